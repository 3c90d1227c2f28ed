#pragma once
// Which keys of two jobs differ, so that a refusal or a resume can name them. No `node` section, which is each
// host's own; what looks like a secret is replaced by a hash.

#include <string>
#include <string_view>
#include <vector>

#include "runtime/job/job_load.hpp"

namespace d9d {

// JSON of all keys that every process of a job shares.
std::string shared_keys(const JobConfig& job);
// The same of keys as resolved_keys() gives them, for example those that a checkpoint keeps.
std::string shared_keys(config::Json keys);

struct KeyDifference {
  std::string key;           // "optimizer.lr"
  std::string mine, theirs;  // JSON, shortened; "missing", "(hidden)"
};

// Both from shared_keys(). In the order of `mine`; a section that only one of them has is one difference. Empty
// too where a text is no JSON of bounded depth: `theirs` may come from a stranger.
std::vector<KeyDifference> key_differences(const std::string& mine, const std::string& theirs);

// How `now` differs from the keys that a checkpoint keeps. A key that did not exist then had its default.
std::vector<KeyDifference> differences_since(const config::Json& then, const JobConfig& now);

// "optimizer.lr (0.1 at node 0, 0.2 here), seed (...) and 3 more"; empty where nothing differs.
std::string told(const std::vector<KeyDifference>& differences, std::string_view where_mine,
                 std::string_view where_theirs);

}  // namespace d9d
