#pragma once
// The user's secret of a job: node.job_token, the file node.job_token_file, or the variable D9D_JOB_TOKEN.

#include <string>
#include <vector>

#include "runtime/job/section/node_config.hpp"
#include "runtime/launch/launch_place.hpp"
#include "runtime/net/proof.hpp"

namespace d9d {

inline constexpr const char* token_variable = "D9D_JOB_TOKEN";

struct JobToken {
  net::Secret secret{};               // of kind none where the user gives none
  std::vector<std::string> warnings;  // who else can read it
};

// Input error naming the place and the remedy: two places say one, it is empty,
// the file cannot be read, is no file, or has several lines.
JobToken job_token(const NodeConfig& node, const Variables& variables);

// Whether one of the overrides (--set KEY=VALUE) says it: every user of the host can read a command line.
bool says_token(const std::vector<std::string>& overrides);

}  // namespace d9d
