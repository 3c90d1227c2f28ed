// Many ranges in one launch: the CPU's bytes.
#include <ATen/ops/arange.h>
#include <ATen/ops/full.h>

#include "tests/kernels/cuda/same_as_cpu.hpp"
#include "tests/support/gradcheck.hpp"

namespace d9d::test {
namespace {

using kernels::CopiedPieces;
using kernels::OpTable;

// Places that are equally far from 16 bytes, and such that are 8, 4, 2 and 1 bytes apart (as bytes); heads and tails of
// all lengths; empty pieces; pieces of several thread blocks and thread blocks of several pieces; neighbours.
CopiedPieces pieces_of_all_kinds() {
  CopiedPieces pieces;
  std::int64_t to = 3, from = 1;
  for (const std::int64_t count : {1, 0, 15, 16, 17, 255, 4099, 2, 33, 8, 8, 7, 20'000, 64, 5}) {
    for (const std::int64_t apart : {0, 1, 2, 4, 8}) {
      pieces.push_back({to, from, count});
      to += count;  // where apart is 0 the next one is its neighbour in both
      from += count + apart;
    }
  }
  return pieces;
}

std::int64_t end_of(const CopiedPieces& pieces) {
  return std::max(pieces.back().to, pieces.back().from) + pieces.back().count + 8;
}

void expect_copied(const CopiedPieces& pieces, at::ScalarType dtype, std::int64_t offset = 0) {
  const std::int64_t end = end_of(pieces);
  const at::Tensor from = values({end + offset}, 1, at::kFloat).mul(50).to(dtype).narrow(0, offset, end);
  expect_same_as_cpu(&OpTable::copy_pieces, 0, at::full({end}, 7, dtype), from, pieces);
}

TEST_F(CudaOps, SmallPiecesOfAllKindsAreTheCpus) {
  for (const at::ScalarType dtype : {at::kFloat, at::kBFloat16, at::kChar})
    for (const std::int64_t offset : {0, 1, 3}) expect_copied(pieces_of_all_kinds(), dtype, offset);
}

// As many as the arguments of a launch take, one more, and those of 11 weights on 64 ranks.
TEST_F(CudaOps, SmallPiecesAreTheCpusHoweverManyThereAre) {
  for (const std::int64_t count : {159, 160, 161, 704}) {
    CopiedPieces pieces;
    for (std::int64_t i = 0; i < count; ++i) pieces.push_back({i * 24, (count - 1 - i) * 24, 8 + i % 9});
    pieces.push_back({count * 24, count * 24, 1});  // the last one ends both
    pieces.erase(pieces.begin());
    expect_copied(pieces, at::kBFloat16);
  }
}

TEST_F(CudaOps, SmallPiecesMayBeNone) {
  expect_same_as_cpu(&OpTable::copy_pieces, 0, at::full({5}, 7, at::kFloat), at::full({5}, 1, at::kFloat),
                     CopiedPieces());
  expect_same_as_cpu(&OpTable::copy_pieces, 0, at::full({5}, 7, at::kFloat), at::full({5}, 1, at::kFloat),
                     CopiedPieces{{2, 2, 0}, {5, 5, 0}});
}

}  // namespace
}  // namespace d9d::test
