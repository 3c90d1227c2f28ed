#pragma once
// What a launcher (torchrun, mpirun, srun) says in environment variables about the place of this process.
// Pure: a function of the variables. Each value keeps the name of the variable that it was read from.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace d9d {

using Variables = std::map<std::string, std::string>;

// More processes than any launch has: a larger number is a mistake.
constexpr int processes_max = 1 << 20;

template <class T>
struct Given {
  T value{};
  std::string variable;
};

struct LaunchPlace {
  std::optional<Given<int>> index;       // of this process among all of the launch
  std::optional<Given<int>> count;       // of processes
  std::optional<Given<int>> host_index;  // of its host among the launch's hosts
  std::optional<Given<int>> host_count;
  int processes_here = 1;                    // on this host
  int index_here = 0;                        // of this process among those
  bool devices_bound = false;                // each of those sees its own devices alone
  bool one_host = false;                     // all processes run on this host
  std::optional<Given<std::string>> host;    // of the process with index 0
  std::optional<Given<std::uint16_t>> port;  // the same for all processes of a launch, and of no other
  std::vector<std::string> notes;            // what the user should know about it

  bool several_per_host() const { return count && host_count && count->value > host_count->value; }
};

// Without a launcher everything is empty. Input error for a variable that is not what it has to be.
LaunchPlace launch_place(const Variables& variables);

// Null when absent or empty.
const std::string* find_variable(const Variables& variables, const std::string& name);
// Input error naming the variable and its value when it is no whole number from min to max.
std::optional<Given<int>> number_in(const Variables& variables, const std::string& name, int min, int max);

}  // namespace d9d
