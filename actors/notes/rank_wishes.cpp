#include "actors/notes/rank_wishes.hpp"

#include <array>
#include <csignal>

#include "runtime/base/error.hpp"

namespace d9d {
namespace {

// The order in which they travel.
constexpr std::array<double RankWishes::*, 10> all_wishes{
    &RankWishes::terminates, &RankWishes::interrupts, &RankWishes::hang_ups, &RankWishes::saves,
    &RankWishes::sleeps,     &RankWishes::roll_back,  &RankWishes::texts,    &RankWishes::ends,
    &RankWishes::lr_changes, &RankWishes::lr_factor};

}  // namespace

RankWishes take_wishes(std::set<int>& signals) {
  const auto count = [&](int signal) { return static_cast<double>(signals.count(signal)); };
  const RankWishes wishes{.terminates = count(SIGTERM),
                          .interrupts = count(SIGINT),
                          .hang_ups = count(SIGHUP),
                          .saves = count(SIGUSR1),
                          .sleeps = count(SIGTSTP)};
  signals.erase(SIGUSR1);
  signals.erase(SIGTSTP);
  return wishes;
}

int stop_signal_of(const RankWishes& summed) {
  if (summed.terminates > 0) return SIGTERM;
  if (summed.interrupts > 0) return SIGINT;
  return summed.hang_ups > 0 ? SIGHUP : 0;
}

std::vector<double> with_wishes(const RankWishes& wishes, const std::vector<double>& sums) {
  std::vector<double> values;
  values.reserve(all_wishes.size() + sums.size());
  for (const auto wish : all_wishes) values.push_back(wishes.*wish);
  values.insert(values.end(), sums.begin(), sums.end());
  return values;
}

RankWishes take_wishes(std::vector<double>& values) {
  D9D_CHECK(values.size() >= all_wishes.size(), "{} values were reduced, and there are {} wishes in front",
            values.size(), all_wishes.size());
  RankWishes wishes;
  for (std::size_t i = 0; i < all_wishes.size(); ++i) wishes.*all_wishes[i] = values[i];
  values.erase(values.begin(), values.begin() + all_wishes.size());
  return wishes;
}

}  // namespace d9d
