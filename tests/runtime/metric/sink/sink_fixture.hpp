#pragma once
// A folder that lives as long as a test, and a clock that stands still.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "runtime/base/clock.hpp"
#include "tests/support/file_text.hpp"

namespace d9d {

class StandingClock final : public Clock {
 public:
  std::int64_t now_ns() const override { return now; }
  std::int64_t wall_ns() const override { return 1'700'000'000'500'000'000 + now; }
  std::int64_t now = 0;
};

class SinkFolder : public testing::Test {
 protected:
  SinkFolder() {
    const auto* test = testing::UnitTest::GetInstance()->current_test_info();
    folder_ = std::filesystem::temp_directory_path() /
              (std::string("d9d-") + test->test_suite_name() + test->name() + std::to_string(::getpid()));
    std::filesystem::create_directories(folder_);
  }
  ~SinkFolder() override { std::filesystem::remove_all(folder_); }

  static std::string content(const std::filesystem::path& path) { return test::text_of_file(path); }
  static void put(const std::filesystem::path& path, const std::string& text) {
    std::ofstream(path, std::ios::binary) << text;
  }

  std::filesystem::path folder_;
  StandingClock clock_;
};

}  // namespace d9d
