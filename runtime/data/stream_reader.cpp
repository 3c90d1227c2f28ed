#include "runtime/data/stream_reader.hpp"

#include <iterator>
#include <map>
#include <utility>

#include "runtime/base/error.hpp"

namespace d9d {

StreamReader::StreamReader(std::shared_ptr<SampleStream> stream, const StreamPlace& place,
                           const std::vector<nlohmann::json>& states)
    : stream_(std::move(stream)), place_(place) {
  stream_->begin(place);
  if (!states.empty()) stream_->load_states(states, place);
}

bool StreamReader::read_step(std::size_t samples) {
  step_ = std::exchange(began_, true) ? std::move(ahead_) : read(samples);
  taken_ = 0;
  if (step_.size() < samples) return false;
  state_ = {{"replica", place_.replica}, {"state", stream_->state()}};
  ahead_ = read(samples);
  return true;
}

std::vector<Sample> StreamReader::read(std::size_t samples) const {
  std::vector<Sample> all;
  for (std::optional<Sample> next; all.size() < samples && (next = stream_->next());)
    all.push_back(std::move(*next));
  return all;
}

std::vector<Sample> StreamReader::take(std::size_t count) {
  D9D_CHECK(taken_ + count <= step_.size(), "{} samples of a step of {}", taken_ + count, step_.size());
  const auto begin = step_.begin() + static_cast<std::ptrdiff_t>(taken_);
  taken_ += count;
  return {std::move_iterator(begin), std::move_iterator(begin + static_cast<std::ptrdiff_t>(count))};
}

std::vector<nlohmann::json> states_of_streams(const std::vector<nlohmann::json>& saved) {
  std::map<int, nlohmann::json> by_replica;  // ranks of one replica saved the same
  for (const nlohmann::json& each : saved) by_replica[each.at("replica").get<int>()] = each.at("state");
  std::vector<nlohmann::json> states;
  for (auto& [replica, state] : by_replica) states.push_back(std::move(state));
  return states;
}

}  // namespace d9d
