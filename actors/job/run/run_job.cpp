#include "actors/job/run/run_job.hpp"

#include <unistd.h>

#include <atomic>
#include <future>
#include <iostream>
#include <utility>

#include "actors/core/crash_report.hpp"
#include "actors/core/system.hpp"
#include "actors/job/cast/cast.hpp"
#include "actors/job/folder/resume.hpp"
#include "actors/job/folder/run_folders.hpp"
#include "actors/job/process/tell_signal.hpp"
#include "actors/job/run/backends.hpp"
#include "actors/job/run/leave_watch.hpp"
#include "actors/job/run/preparation.hpp"
#include "actors/job/run/process_options.hpp"
#include "actors/node.hpp"
#include "runtime/base/count.hpp"
#include "runtime/base/error.hpp"
#include "runtime/base/host/network.hpp"
#include "runtime/base/host/terminal.hpp"
#include "runtime/base/log.hpp"
#include "runtime/base/log_file.hpp"
#include "runtime/job/job_paths.hpp"
#include "runtime/launch/node_address.hpp"
#include "runtime/launch/process_place.hpp"
#include "runtime/launch/signal_watch.hpp"
#include "runtime/resume/node_inputs.hpp"
#include "runtime/state/checkpoint/held_folders.hpp"
#include "runtime/state/disk/watched_disk.hpp"

namespace d9d {
namespace {

constexpr std::chrono::seconds shutdown_patience{10};
constexpr std::chrono::seconds close_patience{20};
constexpr std::chrono::seconds hurried_patience{1};  // a signal came, and no work is left to finish

// The exit code of the job. The first one counts: that of the node, or that of the node's death. Thread-safe.
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

// Clears the line of the bar before the log prints there.
struct BeforeLine {
  explicit BeforeLine(ProgressDisplay& bar) {
    log::set_before_line([&bar] { bar.leave_line(); });
  }
  ~BeforeLine() { log::set_before_line({}); }
  BeforeLine(const BeforeLine&) = delete;
  BeforeLine& operator=(const BeforeLine&) = delete;
};

// A call to a disk that hangs cannot be taken back, and any thread may have made it. So the process ends at
// once.
void leave_hanging_disk(const std::string& report) {
  log::error("{}", report);
  leave_process(1);
}

// The process ends at once, because other threads may be about to write into the folder, which is another
// job's now.
void leave_lost_folder(const std::string& report) {
  log::stop_copying();  // the copy of the log is in that folder
  log::error("{}", report);
  leave_process(1);
}

void leave_when_hurried(int exit_code, const std::string& why) {
  log::error("{}", why);
  leave_process(exit_code);
}

// Makes reports of hangs and crashes name users' actors and tasks.
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

// Copies the log into a file beside the metrics. Called when training begins, so that a refused start
// leaves nothing. A joining process does so only where it sees node 0's folder, because it must not make
// one of its own.
void keep_log(const JobConfig& job, int node) {
  std::error_code ignored;
  if (node != 0 && !std::filesystem::exists(output_dir(job), ignored)) return;
  try {
    log::copy_to(log_file(job, node));
  } catch (const Error& error) {
    log::warn("{}", error.what());
  }
}

// A job in this process. Members are made in their order and destroyed in the reverse order, so each of
// them may use those above it for as long as it lives.
class JobRun {
 public:
  // Finds what is wrong with the job, and makes everything but actors.
  JobRun(const LoadedJob& loaded, const RunOptions& options, PlannedJob planned);
  // Runs the job to its end. Returns its exit code.
  int run();

 private:
  const JobConfig& job() const { return loaded_.job; }
  PreparedJob prepare(std::optional<JobPlan> plan);
  ProcessServices services(std::vector<RankMemory> memory);
  void make_node();
  CastMember coordinator();
  void tell_warnings() const;
  void take_folders();
  void tell_begin() const;
  void spawn_node();
  int await_end();
  [[noreturn]] void leave(int exit_code);
  void watch_closing(int exit_code);
  void abort_collectives(const std::string& reason) const;
  std::string busy() const { return world_.activities.busy(clock_.now_ns()); }

  const LoadedJob& loaded_;
  const RunOptions& options_;
  std::optional<LeaveWatch> closing_;  // first: it watches how all members below are destroyed
  const std::string isa_;              // before the gate: a wrong D9D_ISA is refused first
  net::Gate gate_;
  const SystemClock clock_;
  SignalWatch signals_;  // before any member that starts a thread: threads inherit which signals are blocked
  PosixDisk plain_disk_;
  DiskWatch disk_watch_;
  HeldFolders held_folders_;
  WatchedDisk disk_;
  trace::Recorder recorder_;
  World world_;
  const PreparedJob prepared_;
  ProgressDisplay progress_;
  const BeforeLine before_line_;
  ProcessServices services_;
  std::unique_ptr<EpochServices> epoch_;  // from when the job has formed
  JobEnd ended_;
  std::atomic<bool> orphaned_{false};  // the Node has died
  NodeOptions node_;                   // until the Node takes them
  ActorId root_;                       // the Node's
  std::optional<RunFolders> folders_;  // gives the locks back when no actor can write any more
  std::optional<ActorSystem> system_;  // last: its end waits for the actors
};

JobRun::JobRun(const LoadedJob& loaded, const RunOptions& options, PlannedJob planned)
    : loaded_(loaded),
      options_(options),
      isa_(instruction_set()),
      gate_(tls_of(job()), gate_options(options)),
      signals_(clock_, {.grace = std::chrono::seconds(job().node.stop_grace), .leave = leave_when_hurried}),
      disk_watch_(std::chrono::seconds(job().node.disk_timeout), leave_hanging_disk),
      held_folders_(leave_lost_folder),
      disk_(plain_disk_, disk_watch_),
      recorder_({.node = options.join ? trace::unknown_node : 0, .random = random_number()}),
      world_{.clock = clock_, .recorder = job().node.trace ? &recorder_ : nullptr},
      prepared_(prepare(std::move(planned.plan))),
      progress_(std::cerr, {.is_terminal = is_screen(STDERR_FILENO)}, clock_),
      before_line_(progress_),
      services_(services(std::move(planned.memory))) {}

int JobRun::run() {
  kernels::choose_backends(prepared_.backends);
  tell_warnings();
  make_node();
  take_folders();
  tell_begin();
  spawn_node();
  const int exit_code = await_end();
  watch_closing(exit_code);
  return exit_code;
}

PreparedJob JobRun::prepare(std::optional<JobPlan> plan) {
  disk_watch_.set_before_call([this](DiskWatch::Access access) {
    if (access != DiskWatch::Access::read) held_folders_.check(access == DiskWatch::Access::change);
  });
  report_exits();
  require_room(job(), options_);
  label_users_code(world_.activities, job());
  for (const std::string& plugin : job().plugins) name_as_plugin(plugin);
  return prepare_job(loaded_, options_, disk_, std::move(plan));
}

ProcessServices JobRun::services(std::vector<RankMemory> memory) {
  return {.loaded = loaded_,
          .prepared = prepared_,
          .world = world_,
          .disk = disk_,
          .gate = gate_,
          .threads_per_rank = threads_per_rank(job(), options_),
          .memory = std::move(memory),
          .progress = options_.join ? nullptr : &progress_,
          .disk_watch = &disk_watch_,
          .held_folders = &held_folders_,
          .job_token = options_.secret.kind == net::SecretKind::token ? options_.secret.text : "",
          .share = options_.share};
}

void JobRun::make_node() {
  node_ = node_options(job(), options_);
  if (node_.opens_port) node_.inputs = node_inputs(disk_, job(), prepared_.tokenizer);
  root_ = {Role::node, node_.first ? 0 : node_.incarnation};
  node_.enter_membership = [this](const std::string& secret) { gate_.secrets().enter_membership(secret); };
  node_.cast = [this](const Membership& membership) {
    epoch_ = std::make_unique<EpochServices>(services_, membership);
    world_.coordinates = [&mesh = epoch_->plan().domains().mesh_for(regular_domain)](int rank) {
      return mesh.label(rank);
    };
    return make_cast(services_, *epoch_);
  };
  node_.node_of = [this] { return node_of_plan(epoch_->plan()); };
  node_.abort_collectives = [this](const std::string& reason) { abort_collectives(reason); };
  node_.on_training = [this] { keep_log(job(), epoch_->membership().node); };
  node_.on_end = [this](int exit_code) { ended_.conclude(exit_code); };
  if (!node_.first) return;
  node_.coordinator = coordinator();
  if (!options_.on_ready) return;
  node_.on_open = [this, address = node_.address](const std::string& host, std::uint16_t port) {
    options_.on_ready(address_for_neighbours(address, host, port));
  };
}

CastMember JobRun::coordinator() {
  CoordinatorOptions options =
      coordinator_options(services_, node_, job_tag(node_.incarnation), options_.fresh);
  options.on_training = [this, record = options.on_training](std::uint64_t step) {
    report_exits();
    if (options_.on_training) options_.on_training();
    record(step);
  };
  return make_coordinator(std::move(options));
}

void JobRun::tell_warnings() const {
  if (options_.share.worker.index != 0) return;  // the first process of the command has said it
  for (const std::string& warning : prepared_.warnings) log::warn("{}", warning);
  if (prepared_.left_out > 0)
    log::info("training leaves out {} at the end of the data, too few for a step",
              counted(prepared_.left_out, "sample"));
}

void JobRun::take_folders() {
  if (node_.first) folders_.emplace(disk_, job(), job_tag(node_.incarnation), disk_watch_, held_folders_);
}

void JobRun::tell_begin() const {
  if (options_.share.worker.index == 0)
    log::info("computing with {} instructions; {}", isa_, backends_text(prepared_.backends, loaded_));
  if (options_.on_ready && options_.join) options_.on_ready(*options_.join);
}

void JobRun::spawn_node() {
  // A node that listens on a name asks the resolver, which may take its time.
  const bool asks_resolver = node_.address.listen && !is_numeric(node_.address.listen->host);
  system_.emplace(world_, system_options(job(), gate_));
  system_->spawn_root(
      root_, asks_resolver ? Threading::own_thread : Threading::pool,
      [this](World& world) { return std::make_unique<Node>(world, std::move(node_)); },
      [this](ErrorKind kind, const std::string& report) {
        log::error("{}", report);
        orphaned_ = true;
        abort_collectives(report);
        ended_.conclude(kind == ErrorKind::input ? 2 : 1);
      });
}

// Returns when the job has ended here, by its Node or by the Node's death, and its actors have ended.
int JobRun::await_end() {
  const SignalWatch::Listener listener(
      signals_, [this](int signal, bool now) { tell_signal(world_, root_, signal, now); },
      [this] { return busy(); });
  const int exit_code = ended_.wait();
  if (orphaned_) leave(exit_code);  // without its Node no actor is told to stop
  const bool formed = world_.epoch.load() != 0;
  const bool hurries = exit_code >= exit_of_signal && (signals_.hurries() || !formed);
  const auto patience = hurries ? hurried_patience : shutdown_patience;
  if (system_->await_all(patience)) return exit_code;
  const std::string who = busy();
  std::string left;
  for (const ActorId id : world_.book.locals()) left += " " + to_string(id);
  log::warn("some actors did not end within {} s: {}; leaving without them. Left are:{}", patience.count(),
            who.empty() ? "none of them is at work" : who, left);
  leave(exit_code == 0 ? 1 : exit_code);
}

// Ends the process without its destructors, which would wait for actors.
void JobRun::leave(int exit_code) {
  folders_.reset();
  leave_process(exit_code);
}

void JobRun::watch_closing(int exit_code) {
  closing_.emplace(close_patience, [exit_code] {
    log::warn("the connections to other nodes did not close within {} s; the process ends without it",
              close_patience.count());
    leave_process(exit_code);
  });
}

void JobRun::abort_collectives(const std::string& reason) const {
  if (epoch_) epoch_->abort(reason);
}

}  // namespace

int run_job(const LoadedJob& loaded, const RunOptions& options, PlannedJob planned) {
  JobRun run(loaded, options, std::move(planned));
  return run.run();
}

}  // namespace d9d
