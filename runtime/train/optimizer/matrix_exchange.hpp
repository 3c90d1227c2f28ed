#pragma once
// Computes with whole matrices whose blocks are on many ranks. Each matrix is sent to one rank of the group,
// which computes with it and sends each rank its blocks of the result. A parameter [.., R, C] is a stack of
// matrices (for example of experts). It may be cut in any dimension, and replicated.
//
// The matrices are shared out over the ranks by size. The first of several replicas sends its
// block; all get the same bits back. A round has at most one matrix per rank, so that a rank
// holds one whole matrix at a time.

#include <ATen/core/Tensor.h>

#include <functional>
#include <memory>
#include <vector>

#include "runtime/comm/communicator.hpp"
#include "runtime/tensor/layout.hpp"

namespace d9d {

// This rank's block of a matrix: matrix number `index` of a parameter, counted in the rank's slice.
struct MatrixBlock {
  std::size_t parameter = 0;  // into the layouts
  std::int64_t index = 0;
};

class MatrixExchange {
 public:
  // `layouts`: of the parameters [R, C] or [E, R, C], in the same order on all ranks of the group. The ranks
  // exchange their slices here. `group`: all ranks that hold a block; null for a single rank.
  MatrixExchange(const std::vector<Layout>& layouts, std::shared_ptr<Communicator> group);

  using Get = std::function<at::Tensor(const MatrixBlock&)>;               // [r, c], the block as it is sent
  using Compute = std::function<at::Tensor(const at::Tensor&)>;            // [R, C] -> [R, C]
  using Put = std::function<void(const MatrixBlock&, const at::Tensor&)>;  // [r, c], the block of the result
  // Calls get() and put() for the blocks of this rank, and compute() for its matrices. put() is
  // called once for each block. All ranks of the group must call run() at the same point. `options`:
  // dtype and device of the blocks.
  void run(const at::TensorOptions& options, const Get& get, const Compute& compute, const Put& put) const;

 private:
  // A block of a matrix on a rank of the group.
  struct Part {
    int rank = 0;
    Slice slice;         // rows and columns of the whole matrix
    bool sends = false;  // true on the first rank that has the block
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
