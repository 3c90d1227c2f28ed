#include "runtime/base/error.hpp"

#include <gtest/gtest.h>

namespace d9d {
namespace {

TEST(Error, RequireNamesTheUserAsTheOneToAct) {
  try {
    D9D_REQUIRE(1 > 2, "given {}, expected at least {}", 1, 2);
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::input);
    EXPECT_STREQ(error.what(), "given 1, expected at least 2");
  }
}

TEST(Error, CheckIsABugAndCarriesItsPlace) {
  try {
    D9D_CHECK(false, "slot {} is empty", 3);
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::bug);
    EXPECT_NE(std::string(error.what()).find("error_test.cpp"), std::string::npos);
  }
}

TEST(Error, AnyExceptionCanBeDescribed) {
  Caught caught{};
  try {
    throw std::out_of_range("index 7");
  } catch (...) {
    caught = describe_current_exception();
  }

  EXPECT_EQ(caught.kind, ErrorKind::bug);
  EXPECT_EQ(caught.what, "index 7");
}

TEST(Error, OfLibTorchIsToldWithoutItsStack) {
  Caught caught{};
  try {
    throw std::runtime_error(
        "mat1 and mat2 do not fit\nException raised from addmm at x.cpp:3\nframe #0: f\n");
  } catch (...) {
    caught = describe_current_exception();
  }

  EXPECT_EQ(caught.what, "mat1 and mat2 do not fit");
}

TEST(Error, ABugNamesItsPlaceInTheProjectAndNotOnTheMachineThatBuiltIt) {
  try {
    D9D_CHECK(false, "that");
    FAIL();
  } catch (const Error& error) {
    EXPECT_TRUE(std::string(error.what()).starts_with("tests/runtime/base/error_test.cpp:")) << error.what();
  }
}

}  // namespace
}  // namespace d9d
