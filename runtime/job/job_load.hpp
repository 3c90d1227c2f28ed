#pragma once
// From a job file to a job that can run: read, override, decode, validate.

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "runtime/base/config/codec.hpp"
#include "runtime/base/config/problems.hpp"
#include "runtime/job/job_config.hpp"
#include "runtime/nn/size/stage_layers.hpp"

namespace d9d {

struct LoadedJob {
  JobConfig job;
  std::shared_ptr<const FamilyModel> model;  // null for a plugin's
  StageSplit split;                          // of its layers over pipeline stages
  std::vector<std::string> warnings;         // settings without effect, one a line
};

// `overrides` are key.path=value, in order. One ErrorKind::input with everything that is wrong: file, line,
// column, key path and remedy of each.
LoadedJob load_job(const std::filesystem::path& file, const std::vector<std::string>& overrides = {});
LoadedJob load_job(config::Node root, const std::vector<std::string>& overrides = {});

// All keys with their values, in order; the token is masked.
config::Json resolved_keys(const JobConfig& job);
// `keys` of a job that another version may have written, as this version reads them: what it lacks has the
// default. As they are where this version refuses them.
config::Json completed_keys(const config::Json& keys);
// Equal for nodes that may run together: a hash of everything but `node`, which is each host's own.
std::uint64_t job_fingerprint(const JobConfig& job);
// The reference of all keys, as Markdown: the committed one, which says everything once (without_repeats()), and the
// one that says all keys of each section.
std::string job_reference();
std::string whole_job_reference();

}  // namespace d9d
