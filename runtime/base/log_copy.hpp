#pragma once
// The sink behind log_file.hpp.

#include <spdlog/sinks/base_sink.h>

#include <filesystem>
#include <mutex>
#include <string>
#include <vector>

namespace d9d::log {

class LogCopy final : public spdlog::sinks::base_sink<std::mutex> {
 public:
  ~LogCopy() override;
  void open(const std::filesystem::path& file, std::uint64_t bytes_max);
  void close();

 protected:
  void sink_it_(const spdlog::details::log_msg& message) override;
  void flush_() override {}

 private:
  void open_file();
  void close_file();
  void put(std::string_view line);

  std::filesystem::path path_;
  std::uint64_t bytes_max_ = 0, size_ = 0;
  int file_ = -1;
  bool over_ = false;
  std::vector<std::string> early_;  // lines from before there was a file
};

}  // namespace d9d::log
