#include "runtime/launch/job_token.hpp"

#include <fmt/format.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <regex>
#include <sstream>

#include "runtime/base/error.hpp"

namespace d9d {
namespace {

constexpr off_t file_bytes_max = 64 << 10;
constexpr mode_t of_others = S_IRGRP | S_IWGRP | S_IROTH | S_IWOTH;

struct stat status_of(const std::string& file) {
  struct stat status {};
  D9D_REQUIRE(
      ::stat(file.c_str(), &status) == 0,
      "node.job_token_file: cannot read {} ({}); write a secret into it, for example with `openssl rand "
      "-hex 32`",
      file, std::strerror(errno));
  // To read from a pipe or a device may never end.
  D9D_REQUIRE(S_ISREG(status.st_mode), "node.job_token_file: {} is no file; give one that holds the secret",
              file);
  D9D_REQUIRE(
      status.st_size <= file_bytes_max,
      "node.job_token_file: {} has {} bytes; a secret is one line, for example of `openssl rand -hex 32`",
      file, status.st_size);
  return status;
}

std::string without_end_of_line(std::string text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == '\r')) text.pop_back();
  return text;
}

std::string token_in(const std::string& file) {
  std::ifstream in(file, std::ios::binary);
  std::ostringstream all;
  D9D_REQUIRE(in.good(), "node.job_token_file: cannot read {} ({}); is it this user's?", file,
              std::strerror(errno));
  if (in.peek() != std::ifstream::traits_type::eof()) all << in.rdbuf();
  const std::string token = without_end_of_line(all.str());
  D9D_REQUIRE(
      !token.empty(),
      "node.job_token_file: {} is empty, which keeps nobody out; write a secret into it, for example with "
      "`openssl rand -hex 32`",
      file);
  D9D_REQUIRE(token.find('\n') == std::string::npos,
              "node.job_token_file: {} has several lines; the secret is the only one", file);
  return token;
}

}  // namespace

JobToken job_token(const NodeConfig& node, const Variables& variables) {
  const auto given = variables.find(token_variable);
  const bool in_variable = given != variables.end();
  for (const auto& [key, is_given] : {std::pair("node.job_token", node.job_token.has_value()),
                                      std::pair("node.job_token_file", node.job_token_file.has_value())}) {
    D9D_REQUIRE(!in_variable || !is_given,
                "{} and the variable {} both give the job's secret; leave one of them out", key,
                token_variable);
  }
  D9D_REQUIRE(!in_variable || !given->second.empty(),
              "the variable {} is empty, which keeps nobody out; unset it, or give it a secret",
              token_variable);
  if (in_variable) return {{net::SecretKind::token, given->second}, {}};
  if (node.job_token) return {{net::SecretKind::token, *node.job_token}, {}};
  if (!node.job_token_file) return {};
  JobToken token;
  const struct stat status = status_of(*node.job_token_file);
  if ((status.st_mode & of_others) != 0) {
    token.warnings.push_back(
        fmt::format("node.job_token_file: other users may read or change {} (mode {:04o}); chmod 600 it",
                    *node.job_token_file, status.st_mode & 07777U));
  }
  token.secret = {net::SecretKind::token, token_in(*node.job_token_file)};
  return token;
}

bool says_token(const std::vector<std::string>& overrides) {
  static const std::regex token(R"(^\s*node(\.job_token\s*=|\s*=.*\bjob_token\b\s*:).*)");
  for (const std::string& override : overrides) {
    if (std::regex_match(override, token)) return true;
  }
  return false;
}

}  // namespace d9d
