#include "runtime/model_folder/new_rows.hpp"

#include <ATen/ops/arange.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/equal.h>
#include <gmock/gmock.h>

#include "runtime/base/error.hpp"
#include "runtime/nn/model/initial_weights.hpp"
#include "tests/support/error_of.hpp"

namespace d9d {
namespace {

StageParameter table_of(std::int64_t rows) {
  return {"model.embed_tokens.weight", at::empty({rows, 5}, at::kFloat), Layout::local({rows, 5}),
          Initial{.value = 0.3F}};
}

TEST(DrawnRows, AreThoseOfATableThatIsDrawnAsAWhole) {
  const StageParameter table = table_of(9);
  draw_initial_weights({table}, 4);
  const at::Tensor given = at::arange(30, at::kBFloat16).view({6, 5});

  const at::Tensor made = drawn_rows(table, 4)->apply({{table.name, given}}).at(table.name);

  EXPECT_TRUE(at::equal(made.narrow(0, 0, 6), given.to(at::kFloat)));
  EXPECT_TRUE(at::equal(made.narrow(0, 6, 3), table.tensor.narrow(0, 6, 3)));
  EXPECT_FALSE(at::equal(drawn_rows(table, 5)->apply({{table.name, given}}).at(table.name), made));
}

TEST(DrawnRows, AreNotForALongerTable) {
  const StageParameter table = table_of(9);
  EXPECT_THAT(test::error_of(
                  [&] {
                    drawn_rows(table, 4)->apply({{table.name, at::empty({10, 5})}});
                  },
                  ErrorKind::input),
              testing::HasSubstr("has 10 rows, more than the 9 that it is to have"));
}

}  // namespace
}  // namespace d9d
