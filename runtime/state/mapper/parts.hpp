#pragma once
// What the leaf mappers share: checks with names in them, and dims that come and go.

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "runtime/state/mapper/mapper.hpp"

namespace d9d {

// An input error when the list is empty or a name comes twice.
Names unique_names(const std::vector<std::string>& names, const char* mapper);
// dim in [0, num_dims), counted from the end when negative; an input error when out of range.
std::size_t wrapped_dim(std::int64_t dim, std::int64_t num_dims, const char* mapper, const std::string& name);
void require_same_dtype(const at::Tensor& first, const at::Tensor& other, const char* mapper,
                        const std::string& name);

Slice without_dim(Slice slice, std::size_t dim);
// The slice with a dim [begin, end) put in before `dim`.
Slice with_dim(Slice slice, std::size_t dim, std::int64_t begin, std::int64_t end);
std::vector<int> same_dims(std::size_t num_dims);
// Piece::dims of an output of `num_dims` whose dim `dim` is new.
std::vector<int> dims_with_new(std::size_t num_dims, std::size_t dim);
// Piece::dims of an output that lacks dim `dim` of an input of `num_dims`.
std::vector<int> dims_without(std::size_t num_dims, std::size_t dim);

}  // namespace d9d
