#pragma once
// Files with a text of JSON in each line.

#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <vector>

namespace d9d::test {

// Behind those that `lines` has.
inline std::vector<nlohmann::json> json_lines(const std::filesystem::path& path,
                                              std::vector<nlohmann::json> lines = {}) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) lines.push_back(nlohmann::json::parse(line));
  return lines;
}

// Those of all files in the folder.
inline std::vector<nlohmann::json> json_lines_in(const std::filesystem::path& folder) {
  std::vector<nlohmann::json> lines;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    lines = json_lines(entry.path(), std::move(lines));
  return lines;
}

// By sample; each has one line.
inline std::map<int, nlohmann::json> json_lines_by_sample(const std::filesystem::path& folder) {
  std::map<int, nlohmann::json> lines;
  for (const nlohmann::json& line : json_lines_in(folder))
    if (!lines.emplace(line.at("sample").get<int>(), line).second)
      throw std::runtime_error("a second line of a sample: " + line.dump());
  return lines;
}

}  // namespace d9d::test
