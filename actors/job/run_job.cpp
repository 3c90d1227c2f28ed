#include "actors/job/run_job.hpp"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <future>
#include <iostream>
#include <nlohmann/json.hpp>
#include <random>

#include "actors/core/crash_report.hpp"
#include "actors/core/system.hpp"
#include "actors/job/cast.hpp"
#include "actors/job/close_watch.hpp"
#include "actors/job/instruction_set.hpp"
#include "actors/job/preparation.hpp"
#include "actors/job/resume.hpp"
#include "actors/job/run_folders.hpp"
#include "actors/job/tell_signal.hpp"
#include "actors/node.hpp"
#include "runtime/base/count.hpp"
#include "runtime/base/error.hpp"
#include "runtime/base/host/descriptors.hpp"
#include "runtime/base/host/network.hpp"
#include "runtime/base/host/terminal.hpp"
#include "runtime/base/host_limits.hpp"
#include "runtime/base/log.hpp"
#include "runtime/base/log_file.hpp"
#include "runtime/data/sample_source.hpp"
#include "runtime/family/family_model.hpp"
#include "runtime/job/job_difference.hpp"
#include "runtime/job/job_paths.hpp"
#include "runtime/launch/host_cores.hpp"
#include "runtime/launch/node_address.hpp"
#include "runtime/launch/process_place.hpp"
#include "runtime/launch/signal_watch.hpp"
#include "runtime/plugin/builtins.hpp"
#include "runtime/rank/job_pieces.hpp"
#include "runtime/state/checkpoint/held_folders.hpp"
#include "runtime/state/disk/watched_disk.hpp"

namespace d9d {
namespace {

constexpr std::chrono::seconds shutdown_patience{10};
constexpr std::chrono::seconds close_patience{20};
constexpr std::chrono::seconds hurried_patience{1};  // a signal, and nothing to finish

// The exit code, from whoever knows it first: the node, or the death of the node.
class JobEnd {
 public:
  void conclude(int exit_code) {
    if (!concluded_.exchange(true)) code_.set_value(exit_code);
  }
  int wait() { return code_.get_future().get(); }

 private:
  std::atomic<bool> concluded_{false};
  std::promise<int> code_;
};

[[noreturn]] void leave_process(int exit_code) {
  std::cerr.flush();
  std::_Exit(exit_code);
}

int threads_per_rank(const JobConfig& job, const RunOptions& options) {
  if (job.node.threads_per_rank) return static_cast<int>(*job.node.threads_per_rank);
  return std::max(1, cores_of_process(options.share) / ranks_of_process(job, options));
}

// OpenMP and the allocator hang or abort where threads or address space cannot be had.
void require_room(const JobConfig& job, const RunOptions& options) {
  constexpr int threads_of_a_rank = 6;  // stage, loader, collectives
  constexpr int threads_of_a_process = 12;
  constexpr std::uint64_t stack = 8 << 20;
  constexpr std::uint64_t buffers = 384 << 20;
  const int ranks = ranks_of_process(job, options);
  const int threads = ranks * (threads_of_a_rank + threads_per_rank(job, options)) + threads_of_a_process;
  require_address_space(static_cast<std::uint64_t>(threads) * stack + buffers);
  require_threads(threads);
}

// Users' actors and tasks by their names, where it is said what hangs or crashed.
void label_users_code(Activities& activities, const JobConfig& job) {
  for (std::size_t i = 0; i < job.actors.size(); ++i) activities.label({Role::user, i}, job.actors[i].name);
  const auto* const task = std::get_if<config::Named>(&job.task);
  if (task == nullptr) return;
  for (int rank = 0; rank < job.mesh.world_size(); ++rank) {
    activities.label({Role::rank_executor, static_cast<std::uint64_t>(rank)}, "task " + task->name);
    activities.label({Role::loader, static_cast<std::uint64_t>(rank)}, "task " + task->name);
    activities.label({Role::trainer, static_cast<std::uint64_t>(rank)}, "task " + task->name);
  }
}

std::uint64_t random_bits() {
  std::random_device device;
  return std::uint64_t{device()} << 32 | device();
}

std::function<std::shared_ptr<InferenceTask>(int)> inference_maker(
    const Registry& registry, const JobConfig& job, std::shared_ptr<const SampleSource> source) {
  if (!job.inference) return {};
  return
      [&, source = std::move(source)](int rank) { return make_inference_task(registry, job, rank, source); };
}

// By it the nodes of a job know their own files.
std::string job_tag(std::uint64_t incarnation_of_node_0) {
  return fmt::format("{:012x}", incarnation_of_node_0);
}

// Nobody can take a hanging call back, and the thread that made it may be any: the process ends here.
void leave_hanging_disk(const std::string& report) {
  log::error("{}", report);
  std::cerr.flush();
  std::_Exit(1);
}

// Any thread may be about to write, or may find out: what must not happen any more cannot be told to all of them in time.
void leave_lost_folder(const std::string& report) {
  log::stop_copying();  // that file is in the folder
  log::error("{}", report);
  std::cerr.flush();
  std::_Exit(1);
}

void warn_of(const PreparedJob& prepared) {
  for (const std::string& warning : prepared.warnings) log::warn("{}", warning);
  if (prepared.left_out > 0)
    log::info("training leaves out {} at the end of the data, too few for a step",
              counted(prepared.left_out, "sample"));
}

// What a process shares: for its life, and from when the job has formed.
struct JobServices {
  ProcessServices process;
  std::unique_ptr<EpochServices> epoch{};

  void abort_collectives(const std::string& reason) const {
    if (epoch) epoch->abort(reason);
  }
};

// Beside the metrics, from when training begins: a start that was refused leaves nothing. A joining process does so where
// it sees node 0's folder, and makes none of its own.
void keep_log(const JobConfig& job, int node) {
  std::error_code ignored;
  if (node != 0 && !std::filesystem::exists(output_dir(job), ignored)) return;
  try {
    log::copy_to(log_file(job, node));
  } catch (const Error& error) {
    log::warn("{}", error.what());
  }
}

std::shared_ptr<const net::Tls> tls_of(const NodeConfig& node) {
  if (!node.tls) return nullptr;
  return std::make_shared<net::Tls>(
      net::TlsFiles{.ca = node.tls->ca, .certificate = node.tls->certificate, .key = node.tls->key});
}

// What nodes must agree on: all but `node`, and whether their ranks are on devices, which cannot sum with others.
std::string keys_of_all_nodes(const JobConfig& job) {
  config::Json keys = config::Json::parse(shared_keys(job));
  keys["node"]["device"] = resolved_keys(job).at("node").at("device");
  return keys.dump();
}

NodeOptions node_options(JobServices& services, const RunOptions& options, JobEnd& ended) {
  const JobConfig& job = services.process.job();
  const std::uint64_t incarnation = random_bits() >> 16;
  NodeOptions node{
      .first = !options.join,
      .join_timeout = std::chrono::seconds(job.node.join_timeout),
      .ranks = ranks_offered(job, options),
      .node_index = options.node_index,
      .command = options.command,
      .place = static_cast<std::uint32_t>(options.share.worker.index),
      .opens_port = options.join || options.listen || job.node.listen || ranks_offered(job, options) != 0,
      .address = address_options(job, options),
      .build = options.build,
      .job_hash = fmt::format("{:016x}", job_fingerprint(job) + static_cast<std::uint64_t>(job.node.device)),
      .incarnation = incarnation,
      .events = job.inference ? "inference" : "train"};
  node.job_keys = keys_of_all_nodes(job);
  node.has_token = options.secret.kind == net::SecretKind::token;
  node.enter_membership = [&gate = services.process.gate](const std::string& secret) {
    gate.secrets().enter_membership(secret);
  };
  if (options.join) {
    node.join = address_of_first_node(options);
  } else {
    CoordinatorOptions coordinator =
        coordinator_options(services.process, node, job_tag(incarnation), options.fresh);
    coordinator.on_training = [&options, record = coordinator.on_training](std::uint64_t step) {
      report_exits();
      if (options.on_training) options.on_training();
      record(step);
    };
    node.coordinator = make_coordinator(std::move(coordinator));
  }
  node.cast = [&services](const Membership& membership) {
    services.epoch = std::make_unique<EpochServices>(services.process, membership);
    return make_cast(services.process, *services.epoch);
  };
  node.node_of = [&services] { return node_of_plan(services.epoch->plan()); };
  node.abort_collectives = [&services](const std::string& reason) { services.abort_collectives(reason); };
  node.on_training = [&services] { keep_log(services.process.job(), services.epoch->membership().node); };
  node.on_end = [&ended](int exit_code) { ended.conclude(exit_code); };
  if (options.on_ready && !options.join) {
    node.on_open = [&options, address = node.address](const std::string& host, std::uint16_t port) {
      options.on_ready(address_for_neighbours(address, host, port));
    };
  }
  return node;
}

// Until the job has ended here, by its node or by the death of its node.
int run_node(ActorSystem& system, JobServices& services, NodeOptions node, JobEnd& ended,
             SignalWatch& signals, std::optional<RunFolders>& folders) {
  World& world = services.process.world;
  const ActorId root{Role::node, node.first ? 0 : node.incarnation};
  // The resolver may take its time.
  const bool asks_resolver = node.address.listen && !is_numeric(node.address.listen->host);
  const auto busy = [&world] { return world.activities.busy(world.clock.now_ns()); };
  std::atomic<bool> orphaned{false};
  system.spawn_root(
      root, asks_resolver ? Threading::own_thread : Threading::pool,
      [&node](World& w) { return std::make_unique<Node>(w, std::move(node)); },
      [&](ErrorKind kind, const std::string& report) {
        log::error("{}", report);
        orphaned = true;
        services.abort_collectives(report);
        ended.conclude(kind == ErrorKind::input ? 2 : 1);
      });
  const SignalWatch::Listener listener(
      signals, [&](int signal, bool now) { tell_signal(world, root, signal, now); }, busy);
  const int exit_code = ended.wait();
  const auto leave = [&](int code) {
    folders.reset();
    leave_process(code);
  };
  if (orphaned) leave(exit_code);  // nobody is left who would tell the actors to stop
  const bool formed = world.epoch.load() != 0;
  const auto patience =
      exit_code >= exit_of_signal && (signals.hurries() || !formed) ? hurried_patience : shutdown_patience;
  if (!system.await_all(patience)) {
    const std::string who = busy();
    log::warn("some actors did not end within {} s: {}; leaving without them", patience.count(),
              who.empty() ? "none of them is at work" : who);
    leave(exit_code == 0 ? 1 : exit_code);
  }
  return exit_code;
}

// The bar leaves its line before the log prints on it.
struct BeforeLine {
  explicit BeforeLine(ProgressDisplay& bar) {
    log::set_before_line([&bar] { bar.leave_line(); });
  }
  ~BeforeLine() { log::set_before_line({}); }
  BeforeLine(const BeforeLine&) = delete;
  BeforeLine& operator=(const BeforeLine&) = delete;
};

void watch_closing(std::optional<CloseWatch>& closing, int exit_code) {
  closing.emplace(close_patience, [exit_code] {
    log::warn("what connects the nodes did not close within {} s; leaving without that",
              close_patience.count());
    leave_process(exit_code);
  });
}

net::GateOptions gate_options(const RunOptions& options) {
  // Of a limit that cannot be raised, strangers at the gate get an eighth.
  const std::uint64_t descriptors = raise_descriptor_limit();
  return {.newcomers_max = std::clamp<std::uint64_t>(descriptors / 8, 8, 128),
          .secret = options.secret,
          .awaits_membership = true,
          .takes_joins = !options.join};
}

SystemOptions system_options(const NodeConfig& node, net::Gate& gate) {
  SystemOptions options{.heartbeat_interval = std::chrono::milliseconds(node.heartbeat_ms),
                        .connection_timeout = std::chrono::milliseconds(node.heartbeat_ms * 10)};
  options.gate = &gate;
  return options;
}

}  // namespace

int run_job(const LoadedJob& loaded, const RunOptions& options) {
  const JobConfig& job = loaded.job;
  std::optional<CloseWatch> closing;  // outlives what closes
  const std::string isa = instruction_set();
  net::Gate gate(tls_of(job.node), gate_options(options));
  const SystemClock clock;
  SignalWatch signals(clock, {.grace = std::chrono::seconds(job.node.stop_grace),
                              .leave = [](int exit_code, const std::string& why) {
                                log::error("{}", why);
                                leave_process(exit_code);
                              }});
  PosixDisk plain_disk;
  DiskWatch disk_watch(std::chrono::seconds(job.node.disk_timeout), leave_hanging_disk);
  HeldFolders held_folders(leave_lost_folder);
  disk_watch.set_before_call([&held_folders](DiskWatch::Access access) {
    if (access != DiskWatch::Access::read) held_folders.check(access == DiskWatch::Access::change);
  });
  WatchedDisk disk(plain_disk, disk_watch);
  trace::Recorder recorder({.node = options.join ? trace::unknown_node : 0, .random = random_bits()});
  World world{.clock = clock, .recorder = job.node.trace ? &recorder : nullptr};
  report_crashes();
  report_exits();
  require_room(job, options);
  label_users_code(world.activities, job);
  for (const std::string& plugin : job.plugins) name_as_plugin(plugin);
  PreparedJob prepared = prepare_job(loaded, options, disk);
  if (options.share.worker.index == 0) warn_of(prepared);
  ProgressDisplay progress(std::cerr, {.is_terminal = is_screen(STDERR_FILENO)}, clock);

  const BeforeLine before_line(progress);
  JobServices services{{.loaded = loaded,
                        .world = world,
                        .disk = disk,
                        .model = prepared.model,
                        .optimizer = prepared.optimizer,
                        .lr_schedule = prepared.lr_schedule,
                        .user_actors = prepared.user_actors,
                        .make_task = [&] { return make_task(prepared.registry, job); },
                        .make_inference_task = inference_maker(prepared.registry, job, prepared.source),
                        .phases = prepared.phases,
                        .make_gradient_hooks = [&] { return make_gradient_hooks(prepared.registry, job); },
                        .num_samples = prepared.num_samples,
                        .end_sample = prepared.end_sample,
                        .gate = gate,
                        .threads_per_rank = threads_per_rank(job, options),
                        .source = prepared.source,
                        .evaluation_source = prepared.evaluation_source,
                        .evaluation_batches = prepared.evaluation_batches,
                        .evaluation_end = prepared.evaluation_end,
                        .collation = prepared.collation,
                        .own_schedule = prepared.schedule,
                        .progress = options.join ? nullptr : &progress,
                        .disk_watch = &disk_watch,
                        .held_folders = &held_folders,
                        .tokenizer = std::move(prepared.tokenizer),
                        .registry = &prepared.registry,
                        .expected_memory = options.expected_memory,
                        .job_token = options.secret.kind == net::SecretKind::token ? options.secret.text : "",
                        .share = options.share}};

  JobEnd ended;
  NodeOptions node = node_options(services, options, ended);
  std::optional<RunFolders> folders;
  if (node.first) folders.emplace(disk, job, job_tag(node.incarnation), disk_watch, held_folders);
  if (options.share.worker.index == 0) log::info("computing with {} instructions", isa);
  if (options.on_ready && options.join) options.on_ready(*options.join);
  ActorSystem system(world, system_options(job.node, gate));
  const int exit_code = run_node(system, services, std::move(node), ended, signals, folders);
  watch_closing(closing, exit_code);
  return exit_code;
}

}  // namespace d9d
