#include "runtime/train/optimizer/matrix_exchange.hpp"

#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>

#include <algorithm>
#include <numeric>

namespace d9d {
namespace {

constexpr std::size_t matrix_dims = 2;

std::int64_t cost_of(std::int64_t rows, std::int64_t columns) {
  return rows * columns * std::min(rows, columns);
}

// Rows and columns of a parameter's slice.
Slice matrix_slice(const Slice& slice) {
  const auto end = static_cast<std::ptrdiff_t>(matrix_dims);
  return {{slice.begin.end() - end, slice.begin.end()}, {slice.end.end() - end, slice.end.end()}};
}

at::Tensor block_of_whole(const at::Tensor& whole, const Slice& slice) {
  return whole.narrow(0, slice.begin[0], slice.end[0] - slice.begin[0])
      .narrow(1, slice.begin[1], slice.end[1] - slice.begin[1]);
}

at::Tensor joined(const std::vector<at::Tensor>& flat, const at::TensorOptions& options) {
  return flat.empty() ? at::empty({0}, options) : at::cat(flat);
}

std::int64_t sum_of(const std::vector<std::int64_t>& counts) {
  return std::accumulate(counts.begin(), counts.end(), std::int64_t{0});
}

}  // namespace

MatrixExchange::MatrixExchange(const std::vector<Layout>& layouts, std::shared_ptr<Communicator> group)
    : group_(std::move(group)) {
  const auto slices = slices_of_all(layouts);
  for (std::size_t parameter = 0; parameter < layouts.size(); ++parameter) {
    const Slice& own = slices[static_cast<std::size_t>(rank())][parameter];
    first_index_.push_back(own.begin.size() > matrix_dims ? own.begin.front() : 0);
    add_matrices(parameter, layouts[parameter], slices);
  }
  share_out();
}

// Gathers the slices of all ranks: they depend on each rank's place in the mesh, which is not known here.
std::vector<std::vector<Slice>> MatrixExchange::slices_of_all(const std::vector<Layout>& layouts) const {
  std::vector<std::int64_t> own;
  for (const Layout& layout : layouts) {
    const Slice slice = layout.local_slice();
    own.insert(own.end(), slice.begin.begin(), slice.begin.end());
    own.insert(own.end(), slice.end.begin(), slice.end.end());
  }
  const auto count = static_cast<std::int64_t>(own.size());
  at::Tensor mine = at::empty({count}, at::kLong);
  std::copy(own.begin(), own.end(), mine.data_ptr<std::int64_t>());
  at::Tensor all = at::empty({count * size()}, at::kLong);
  if (group_) {
    group_->all_gather(all, mine).wait();
  } else {
    all.copy_(mine);
  }
  std::vector<std::vector<Slice>> slices(static_cast<std::size_t>(size()));
  const std::int64_t* next = all.data_ptr<std::int64_t>();
  for (auto& of_rank : slices) {
    for (const Layout& layout : layouts) {
      const std::size_t dims = layout.global_shape().size();
      of_rank.push_back({{next, next + dims}, {next + dims, next + 2 * dims}});
      next += 2 * dims;
    }
  }
  return slices;
}

void MatrixExchange::add_matrices(std::size_t parameter, const Layout& layout,
                                  const std::vector<std::vector<Slice>>& slices) {
  const std::vector<std::int64_t>& shape = layout.global_shape();
  const bool is_stack = shape.size() > matrix_dims;
  const std::int64_t count = is_stack ? shape.front() : 1;
  for (std::int64_t index = 0; index < count; ++index) {
    Matrix matrix{parameter, index, shape[shape.size() - 2], shape.back(), {}};
    for (int rank = 0; rank < size(); ++rank) {
      const Slice& slice = slices[static_cast<std::size_t>(rank)][parameter];
      const Slice part = matrix_slice(slice);
      const bool is_outside = is_stack && (index < slice.begin.front() || index >= slice.end.front());
      if (is_outside || part.num_elements() == 0) continue;
      const bool is_known = std::any_of(matrix.parts.begin(), matrix.parts.end(),
                                        [&](const Part& other) { return other.slice == part; });
      matrix.parts.push_back({rank, part, !is_known});
    }
    matrices_.push_back(std::move(matrix));
  }
}

// Gives the most expensive matrix first, each to the rank with the least work so far.
// All ranks find the same result.
void MatrixExchange::share_out() {
  std::vector<std::size_t> order(matrices_.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  const auto cost = [&](std::size_t i) { return cost_of(matrices_[i].rows, matrices_[i].columns); };
  // Stable, so that all ranks order equally expensive matrices alike.
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return cost(a) > cost(b); });
  work_.resize(static_cast<std::size_t>(size()));
  std::vector<std::int64_t> load(work_.size(), 0);
  for (const std::size_t matrix : order) {
    const auto least = static_cast<std::size_t>(std::min_element(load.begin(), load.end()) - load.begin());
    work_[least].push_back(matrix);
    load[least] += cost(matrix);
    rounds_ = std::max(rounds_, work_[least].size());
  }
}

const MatrixExchange::Part* MatrixExchange::Matrix::part_of(int rank) const {
  const auto found =
      std::find_if(parts.begin(), parts.end(), [&](const Part& part) { return part.rank == rank; });
  return found == parts.end() ? nullptr : &*found;
}

const MatrixExchange::Matrix* MatrixExchange::matrix_of(std::size_t round, int owner) const {
  const std::vector<std::size_t>& of_owner = work_[static_cast<std::size_t>(owner)];
  return round < of_owner.size() ? &matrices_[of_owner[round]] : nullptr;
}

MatrixBlock MatrixExchange::block_of(const Matrix& matrix) const {
  return {matrix.parameter, matrix.index - first_index_[matrix.parameter]};
}

// Sends and receives so many elements to and from each rank; returns the received ones.
at::Tensor MatrixExchange::exchange(const at::Tensor& flat, const Counts& from, const Counts& to) const {
  if (!group_) return flat;
  at::Tensor received = at::empty({sum_of(from)}, flat.options());
  group_->all_to_all(received, flat, from, to).wait();
  return received;
}

// Collects the blocks of this rank's matrix in a round and returns the matrix; undefined if it has none.
at::Tensor MatrixExchange::collect(std::size_t round, const at::TensorOptions& options,
                                   const Get& get) const {
  Counts to(work_.size(), 0), from(work_.size(), 0);
  std::vector<at::Tensor> sent;
  for (int owner = 0; owner < size(); ++owner) {
    const Matrix* matrix = matrix_of(round, owner);
    const Part* part = matrix ? matrix->part_of(rank()) : nullptr;
    if (!part || !part->sends) continue;
    sent.push_back(get(block_of(*matrix)).to(options.dtype().toScalarType()).flatten());
    to[static_cast<std::size_t>(owner)] = sent.back().numel();
  }
  const Matrix* mine = matrix_of(round, rank());
  for (const Part& part : mine ? mine->parts : std::vector<Part>())
    if (part.sends) from[static_cast<std::size_t>(part.rank)] = part.slice.num_elements();
  const at::Tensor received = exchange(joined(sent, options), from, to);
  if (!mine) return {};
  at::Tensor whole = at::empty({mine->rows, mine->columns}, received.options());
  std::int64_t begin = 0;
  for (const Part& part : mine->parts) {
    if (!part.sends) continue;
    const at::Tensor block = block_of_whole(whole, part.slice);
    block.copy_(received.narrow(0, begin, block.numel()).view(block.sizes()));
    begin += block.numel();
  }
  return whole;
}

// `whole`: the result of this rank in the round; undefined if it had no matrix.
void MatrixExchange::give_back(std::size_t round, const at::TensorOptions& options, const at::Tensor& whole,
                               const Put& put) const {
  Counts to(work_.size(), 0), from(work_.size(), 0);
  std::vector<at::Tensor> sent;
  const Matrix* mine = matrix_of(round, rank());
  for (const Part& part : mine ? mine->parts : std::vector<Part>()) {
    sent.push_back(block_of_whole(whole, part.slice).flatten());
    to[static_cast<std::size_t>(part.rank)] = sent.back().numel();
  }
  for (int owner = 0; owner < size(); ++owner) {
    const Matrix* matrix = matrix_of(round, owner);
    const Part* part = matrix ? matrix->part_of(rank()) : nullptr;
    if (part) from[static_cast<std::size_t>(owner)] = part->slice.num_elements();
  }
  const at::Tensor received = exchange(joined(sent, options), from, to);
  std::int64_t begin = 0;
  for (int owner = 0; owner < size(); ++owner) {
    const Matrix* matrix = matrix_of(round, owner);
    const Part* part = matrix ? matrix->part_of(rank()) : nullptr;
    if (!part) continue;
    const std::int64_t count = part->slice.num_elements();
    put(block_of(*matrix), received.narrow(0, begin, count).view(part->slice.shape()));
    begin += count;
  }
}

void MatrixExchange::run(const at::TensorOptions& options, const Get& get, const Compute& compute,
                         const Put& put) const {
  for (std::size_t round = 0; round < rounds_; ++round) {
    const at::Tensor whole = collect(round, options, get);
    give_back(round, options, whole.defined() ? compute(whole) : whole, put);
  }
}

}  // namespace d9d
