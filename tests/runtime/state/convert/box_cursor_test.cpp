#include "runtime/state/convert/box_cursor.hpp"

#include <gtest/gtest.h>

namespace d9d {
namespace {

TEST(BoxCursor, CutsEveryShapeIntoRunsThatFollowOneAnother) {
  for (const Shape& shape :
       {Shape{}, Shape{0, 3}, Shape{7}, Shape{5, 3}, Shape{2, 1, 4, 3}, Shape{3, 5, 1}}) {
    for (const std::int64_t values : {0, 1, 2, 5, 12, 1000}) {
      BoxCursor cursor(shape, values);
      std::int64_t reached = 0, boxes = 0;
      while (const auto box = cursor.next()) {
        EXPECT_EQ(first_value(*box, shape), reached) << to_text(shape) << " by " << values;
        EXPECT_TRUE(is_one_run(*box, shape));
        EXPECT_LE(box->num_elements(), std::max<std::int64_t>(values, 1));
        reached += box->num_elements();
        ++boxes;
      }
      EXPECT_EQ(reached, num_elements(shape)) << to_text(shape) << " by " << values;
      EXPECT_GE(boxes, 1) << "an empty tensor, too, is seen";
      EXPECT_FALSE(cursor.next());
    }
  }
}

TEST(BoxCursor, TellsABoxThatIsNoRun) {
  EXPECT_FALSE(is_one_run({{0, 0}, {2, 2}}, {4, 3}));
  EXPECT_TRUE(is_one_run({{1, 0}, {2, 2}}, {4, 3}));
  EXPECT_TRUE(is_one_run({{1, 0}, {3, 3}}, {4, 3}));
}

}  // namespace
}  // namespace d9d
