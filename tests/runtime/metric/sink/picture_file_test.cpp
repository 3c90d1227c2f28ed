#include "runtime/metric/sink/picture_file.hpp"

#include <gmock/gmock.h>

#include "runtime/base/error.hpp"
#include "tests/runtime/metric/sink/one_pixel.hpp"
#include "tests/runtime/metric/sink/sink_fixture.hpp"
#include "tests/support/error_of.hpp"

namespace d9d {
namespace {

using PictureFile = SinkFolder;

TEST_F(PictureFile, IsKnownByItsHeader) {
  const std::string png = test::png_of_one_pixel();
  ASSERT_TRUE(size_of_png(png));
  EXPECT_EQ(size_of_png(png)->width, 1U);
  EXPECT_FALSE(size_of_png(png.substr(0, 20)));
  EXPECT_FALSE(size_of_png("GIF89a and more bytes than a header"));
}

TEST_F(PictureFile, KeepsItsNameWithinItsFolder) {
  const Picture picture{test::png_of_one_pixel()};
  const auto path = write_picture(folder_, {"../../maps/of attention", 7}, picture);
  EXPECT_EQ(path, "pictures/______maps_of_attention-7.png");
  EXPECT_EQ(content(folder_ / path), picture.png);
}

TEST_F(PictureFile, ThatCannotBeWrittenIsAnErrorOfTheEnvironment) {
  EXPECT_THAT(test::error_of(
                  [&] {
                    write_picture("/proc/nowhere", {"a", 1}, {});
                  },
                  ErrorKind::environment),
              testing::HasSubstr("cannot write"));
}

}  // namespace
}  // namespace d9d
