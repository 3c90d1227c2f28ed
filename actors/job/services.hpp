#pragma once
// What the actors of one process share without talking: the plan, the tensor table, the ways to reach other
// ranks. Made by run_job, handed to the cast; outlives every actor. No torch.

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include "actors/core/world.hpp"
#include "actors/job/actor_registry.hpp"
#include "actors/node.hpp"
#include "runtime/comm/factory.hpp"
#include "runtime/comm/open_communicators.hpp"
#include "runtime/comm/processes/socket_transport.hpp"
#include "runtime/mesh/plan.hpp"
#include "runtime/metric/progress.hpp"
#include "runtime/pipeline/program/shared_search.hpp"
#include "runtime/state/disk.hpp"
#include "runtime/state/disk_watch.hpp"
#include "runtime/task/job_load.hpp"
#include "runtime/task/registry.hpp"
#include "runtime/task/tokenizer_files.hpp"
#include "runtime/tensor/tensor_table.hpp"

namespace d9d {

class SampleSource;

struct JobServices {
  const LoadedJob& loaded;
  World& world;
  Disk& disk;
  std::shared_ptr<const ModelProvider> model;
  const ActorRegistry& user_actors;
  std::function<std::shared_ptr<TrainTask>()> make_task;
  std::uint64_t total_steps = 0;
  std::optional<std::uint64_t> end_sample{};  // where the data ends; nothing: it never does
  net::Gate& gate;
  int threads_per_rank = 1;
  TensorTable table;
  std::shared_ptr<const SampleSource> source;  // one for all loaders: a text is tokenised once
  SharedMemoryHub hub{};
  OpenCommunicators open_communicators{};
  std::shared_ptr<SharedSearch> schedule_search = std::make_shared<SharedSearch>();
  ProgressDisplay* progress = nullptr;  // node 0
  DiskWatch* disk_watch = nullptr;      // for files that are not opened through `disk`
  TokenizerFiles tokenizer{};           // copied into every checkpoint

  // Made when the job has formed.
  std::unique_ptr<SocketTransport> transport{};
  std::unique_ptr<Plan> plan{};
  std::unique_ptr<CommunicatorFactory> communicators{};

  const JobConfig& job() const { return loaded.job; }
};

// Of a checkpoint that is being written; the same on all nodes.
std::string temporary_checkpoint_dir(const JobServices& services, const Membership& membership,
                                     std::uint64_t step);

}  // namespace d9d
