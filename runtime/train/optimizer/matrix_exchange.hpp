#pragma once
// Work on whole matrices whose blocks lie on many ranks: each matrix goes to one rank of the group, which computes,
// and every rank gets the blocks of the result that it holds. A parameter [.., R, C] is a stack of matrices (experts
// one by one); its blocks may be cut in any dimension, and replicated.
//
// Each rank works on a share of the matrices, by their size. Of replicas the first one sends its block, and all get
// the same bits back. It goes in rounds of at most one matrix per rank, so that a rank holds one at a time.

#include <ATen/core/Tensor.h>

#include <functional>
#include <memory>
#include <vector>

#include "runtime/comm/communicator.hpp"
#include "runtime/tensor/layout.hpp"

namespace d9d {

// This rank's block of a matrix: matrix `index` (in the rank's slice) of a parameter.
struct MatrixBlock {
  std::size_t parameter = 0;  // into the layouts
  std::int64_t index = 0;
};

class MatrixExchange {
 public:
  // `layouts`: of the parameters, [R, C] or [E, R, C], in one order on all ranks of the group, which agree on their
  // slices here. `group`: all ranks that hold a block; null for one rank alone.
  MatrixExchange(const std::vector<Layout>& layouts, std::shared_ptr<Communicator> group);

  using Get = std::function<at::Tensor(const MatrixBlock&)>;               // [r, c], the block as it is sent
  using Compute = std::function<at::Tensor(const at::Tensor&)>;            // [R, C] -> [R, C]
  using Put = std::function<void(const MatrixBlock&, const at::Tensor&)>;  // [r, c], the block of the result
  // `options`: dtype and device of the blocks. All ranks of the group call it at the same point. put() is called once
  // for each block of this rank.
  void run(const at::TensorOptions& options, const Get& get, const Compute& compute, const Put& put) const;

 private:
  // A block of a matrix on a rank of the group; rows and columns of the whole matrix.
  struct Part {
    int rank = 0;
    Slice slice;
    bool sends = false;  // the first rank that has it
  };
  struct Matrix {
    std::size_t parameter = 0;
    std::int64_t index = 0;  // of the whole parameter
    std::int64_t rows = 0, columns = 0;
    std::vector<Part> parts;  // in order of rank, at most one of each

    const Part* part_of(int rank) const;
  };
  using Counts = std::vector<std::int64_t>;  // elements to or from each rank

  int rank() const { return group_ ? group_->rank() : 0; }
  int size() const { return group_ ? group_->size() : 1; }
  std::vector<std::vector<Slice>> slices_of_all(const std::vector<Layout>& layouts) const;
  void add_matrices(std::size_t parameter, const Layout& layout,
                    const std::vector<std::vector<Slice>>& slices);
  void share_out();
  const Matrix* matrix_of(std::size_t round, int owner) const;
  MatrixBlock block_of(const Matrix& matrix) const;
  at::Tensor exchange(const at::Tensor& flat, const Counts& from, const Counts& to) const;
  at::Tensor collect(std::size_t round, const at::TensorOptions& options, const Get& get) const;
  void give_back(std::size_t round, const at::TensorOptions& options, const at::Tensor& whole,
                 const Put& put) const;

  const std::shared_ptr<Communicator> group_;
  std::vector<Matrix> matrices_;
  std::vector<std::vector<std::size_t>> work_;  // of each rank: matrices in the order of rounds
  std::vector<std::int64_t> first_index_;       // of each parameter: this rank's first matrix
  std::size_t rounds_ = 0;
};

}  // namespace d9d
