#pragma once
// Helpers of the leaf mappers: checks whose errors name tensors, and adding and removing dims.

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "runtime/state/mapper/mapper.hpp"

namespace d9d {

// Input error: the list is empty or has a name twice.
Names unique_names(const std::vector<std::string>& names, const char* mapper);
// Returns dim in [0, num_dims), counted from the end if negative. Input error: it is out of range.
std::size_t wrapped_dim(std::int64_t dim, std::int64_t num_dims, const char* mapper, const std::string& name);
void require_same_dtype(const at::Tensor& first, const at::Tensor& other, const char* mapper,
                        const std::string& name);

Slice without_dim(Slice slice, std::size_t dim);
// Inserts a dim [begin, end) before `dim`.
Slice with_dim(Slice slice, std::size_t dim, std::int64_t begin, std::int64_t end);
std::vector<int> same_dims(std::size_t num_dims);
// Returns Piece::dims for an output of `num_dims` whose dim `dim` is new.
std::vector<int> dims_with_new(std::size_t num_dims, std::size_t dim);
// Returns Piece::dims for an output that lacks dim `dim` of an input of `num_dims`.
std::vector<int> dims_without(std::size_t num_dims, std::size_t dim);

}  // namespace d9d
