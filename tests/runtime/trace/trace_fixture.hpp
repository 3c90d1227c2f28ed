#pragma once
// A folder that lives as long as a test, and the events of a trace file as JSON.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <istream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "runtime/trace/file/gzip_file.hpp"

namespace d9d::trace {

class TraceFolder : public testing::Test {
 protected:
  TraceFolder() {
    const auto* test = testing::UnitTest::GetInstance()->current_test_info();
    folder_ = std::filesystem::temp_directory_path() /
              (std::string("d9d-trace-") + test->name() + "-" + std::to_string(::getpid()));
    std::filesystem::create_directories(folder_);
  }
  ~TraceFolder() override { std::filesystem::remove_all(folder_); }

  std::filesystem::path file(const std::string& name = "trace.json.gz") const { return folder_ / name; }

  static nlohmann::json parsed(const std::filesystem::path& path) {
    GzipReadBuffer buffer(path);
    std::istream stream(&buffer);
    return nlohmann::json::parse(stream);
  }

  static std::vector<nlohmann::json> events(const nlohmann::json& document, const std::string& phase) {
    std::vector<nlohmann::json> found;
    for (const auto& event : document.at("traceEvents")) {
      if (event.at("ph") == phase) found.push_back(event);
    }
    return found;
  }

  std::filesystem::path folder_;
};

}  // namespace d9d::trace
