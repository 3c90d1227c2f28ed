#include "runtime/launch/launch_place.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "runtime/base/config/scalar.hpp"
#include "runtime/base/error.hpp"
#include "runtime/base/rng.hpp"
#include "runtime/launch/hostlist.hpp"

namespace d9d {
namespace {

// Below 32768, where the range begins from which Linux chooses ports.
constexpr std::uint16_t port_first = 20000;
constexpr std::uint16_t port_count = 12000;

using Names = std::vector<const char*>;

// The variables of one launcher, for each value in the order in which they are looked for.
struct Launcher {
  const char* index;
  Names count;
  const char* host_index;
  Names host_count;
  const char* local_index;  // of this process on its host
  Names local_count;        // processes of this host
  Names launch;             // names the launch: together the same for all its processes, and only for them
  bool is_step = false;     // its variables are those of a SLURM step
};

// The innermost launcher first: mpirun inside a SLURM job leaves SLURM's variables where they are.
const std::vector<Launcher>& launchers() {
  static const std::vector<Launcher> list{
      {"RANK",
       {"WORLD_SIZE"},
       "GROUP_RANK",
       {"GROUP_WORLD_SIZE"},
       "LOCAL_RANK",
       {"LOCAL_WORLD_SIZE", "LOCAL_SIZE"},
       {"TORCHELASTIC_RUN_ID", "MASTER_PORT"}},
      {"OMPI_COMM_WORLD_RANK",
       {"OMPI_COMM_WORLD_SIZE"},
       "",
       {},
       "OMPI_COMM_WORLD_LOCAL_RANK",
       {"OMPI_COMM_WORLD_LOCAL_SIZE"},
       {"PMIX_NAMESPACE"}},
      {"PMI_RANK", {"PMI_SIZE"}, "", {}, "MPI_LOCALRANKID", {"MPI_LOCALNRANKS"}, {"SLURM_JOB_ID"}},
      {"SLURM_PROCID",
       {"SLURM_STEP_NUM_TASKS", "SLURM_NTASKS", "SLURM_NPROCS"},
       "SLURM_NODEID",
       {"SLURM_STEP_NUM_NODES", "SLURM_NNODES"},
       "SLURM_LOCALID",
       {},
       {"SLURM_JOB_ID", "SLURM_STEP_ID"},
       true},
      {"SLURM_NODEID",
       {"SLURM_STEP_NUM_NODES", "SLURM_NNODES"},
       "",
       {},
       "",
       {},
       {"SLURM_JOB_ID", "SLURM_STEP_ID"},
       true},
      {"PMIX_RANK", {}, "", {}, "", {}, {"PMIX_NAMESPACE"}}};
  return list;
}

std::optional<Given<int>> first_number(const Variables& variables, const Names& names, int min, int max) {
  for (const char* name : names) {
    if (auto number = number_in(variables, name, min, max)) return number;
  }
  return std::nullopt;
}

bool any_of(const Variables& variables, const Names& names) {
  return std::any_of(names.begin(), names.end(),
                     [&](const char* name) { return find_variable(variables, name) != nullptr; });
}

bool equal(const Variables& variables, const char* one, const char* other) {
  const std::string* const a = find_variable(variables, one);
  const std::string* const b = find_variable(variables, other);
  return a != nullptr && b != nullptr && *a == *b;
}

// `srun --mpi=pmi2` sets those of PMI beside its own, which say more. mpirun tells its processes their place.
bool is_pmi_of_srun(const Variables& variables) {
  return any_of(variables, {"SLURM_STEP_ID", "SLURM_STEPID"}) && !any_of(variables, {"MPI_LOCALRANKID"}) &&
         equal(variables, "PMI_RANK", "SLURM_PROCID");
}

const Launcher* find_launcher(const Variables& variables) {
  const bool pmi_of_srun = is_pmi_of_srun(variables);
  for (const Launcher& launcher : launchers()) {
    if (pmi_of_srun && std::string(launcher.index) == "PMI_RANK") continue;
    // RANK alone may be anybody's.
    const bool complete = std::string(launcher.index) != "RANK" || any_of(variables, launcher.count);
    if (complete && find_variable(variables, launcher.index) != nullptr) return &launcher;
  }
  return nullptr;
}

// SLURM tells a batch script that it is process 0 of all tasks; only srun starts the others.
bool is_batch_script(const Variables& variables) {
  return any_of(variables, {"SLURM_JOB_ID"}) &&
         !any_of(variables, {"SLURM_STEP_ID", "SLURM_STEPID", "SLURM_STEP_NUM_TASKS"});
}

// The address of the first process: of SLURM's list the first host, on one host the host itself.
void find_host(const Variables& variables, const Launcher& launcher, LaunchPlace& place) {
  // The processes of mpirun are in different steps, or in none: only the list of the whole job is one.
  const Names lists = launcher.is_step ? Names{"SLURM_STEP_NODELIST", "SLURM_JOB_NODELIST", "SLURM_NODELIST"}
                                       : Names{"SLURM_JOB_NODELIST"};
  for (const char* name : lists) {
    const std::string* list = find_variable(variables, name);
    if (list == nullptr) continue;
    const std::vector<std::string> hosts = expand_hostlist(*list, name);
    if (launcher.is_step && hosts.size() == 1) place.one_host = true;
    place.host = {hosts.front(), name};
    break;
  }
  if (place.one_host) place.host = {"127.0.0.1", place.host ? place.host->variable : launcher.index};
}

void find_port(const Variables& variables, const Launcher& launcher, LaunchPlace& place) {
  std::string names, values;
  for (const char* name : launcher.launch) {
    const std::string* value = find_variable(variables, name);
    if (value == nullptr) continue;
    names += (names.empty() ? "" : " and ") + std::string(name);
    values += *value + "\n";
  }
  if (names.empty()) return;
  place.port = {static_cast<std::uint16_t>(port_first + stable_hash(values) % port_count), names};
}

}  // namespace

const std::string* find_variable(const Variables& variables, const std::string& name) {
  const auto found = variables.find(name);
  return found == variables.end() || found->second.empty() ? nullptr : &found->second;
}

std::optional<Given<int>> number_in(const Variables& variables, const std::string& name, int min, int max) {
  const std::string* text = find_variable(variables, name);
  if (text == nullptr) return std::nullopt;
  const auto number = config::integer_from(*text);
  D9D_REQUIRE(number && *number >= min && *number <= max,
              "{} is \"{}\", expected a whole number from {} to {}", name, *text, min, max);
  return Given<int>{static_cast<int>(*number), name};
}

LaunchPlace launch_place(const Variables& variables) {
  LaunchPlace place;
  const Launcher* launcher = find_launcher(variables);
  if (launcher == nullptr) return place;
  const auto count = first_number(variables, launcher->count, 1, processes_max);
  if (launcher->is_step && is_batch_script(variables)) {
    if (count && count->value > 1) {
      place.notes.push_back(fmt::format(
          "{} is {}, but this process is the batch script and no task of it: it runs the job alone. "
          "`srun d9d-node ...` starts one process per task",
          count->variable, count->value));
    }
    return place;
  }
  place.count = count;
  place.index = number_in(variables, launcher->index, 0, count ? count->value - 1 : processes_max);
  place.host_index = number_in(variables, launcher->host_index, 0, processes_max);
  place.host_count = first_number(variables, launcher->host_count, 1, processes_max);
  const auto local = first_number(variables, launcher->local_count, 1, processes_max);
  place.one_host = (place.host_count && place.host_count->value == 1) ||
                   (count && ((local && local->value == count->value) || count->value == 1));
  place.processes_here = local ? local->value : 1;
  if (!local && count && place.host_count) {
    place.processes_here = (count->value + place.host_count->value - 1) / place.host_count->value;
  }
  // Launchers that do not say it fill one host after the other.
  const auto here = number_in(variables, launcher->local_index, 0, processes_max);
  const int given = here ? here->value : place.index ? place.index->value : 0;
  place.index_here = given % place.processes_here;
  place.devices_bound = launcher->is_step && any_of(variables, {"SLURM_GPUS_PER_TASK"});
  find_host(variables, *launcher, place);
  find_port(variables, *launcher, place);
  return place;
}

}  // namespace d9d
