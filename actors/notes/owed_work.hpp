#pragma once
// What a run owes when a signal ends it: an evaluation that was due after its last step and was not made, or was cut
// short, and texts that own actors had asked for. It is kept in the checkpoint of that step, and the next start makes
// it before its first step, so that evaluations and what follows from them are those of a run that nobody stopped.

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "actors/notes/step_requests.hpp"

namespace d9d {

struct OwedWork {
  bool evaluation = false;
  std::vector<RequestedTexts> texts{};  // in the order of the requests
  std::uint64_t texts_due = 0;          // all ranks had agreed on the first so many
};

// An object; empty: nothing is owed. Own actors are written by name, because a later job may list others.
// `actor_names`: of the job, in their order.
nlohmann::json to_json(const OwedWork& owed, const std::vector<std::string>& actor_names);
// `json` may be null. Leaves out the texts of actors that the job no longer has.
OwedWork owed_work_of(const nlohmann::json& json, const std::vector<std::string>& actor_names);

}  // namespace d9d
