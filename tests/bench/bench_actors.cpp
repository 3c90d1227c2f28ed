// What a message between two actors costs: round trip and one-way rate of a 64-byte payload (8 doubles in a
// ReduceValues), on the pool, on threads of their own, and between two processes over loopback TCP; traced
// and not. Beside it the floor of the machine at the same moment: the same bytes over a plain TCP socket.
//   bench_actors [--rounds N]        prints one JSON object; times in microseconds
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <future>
#include <iostream>
#include <nlohmann/json.hpp>
#include <optional>
#include <thread>

#include "actors/core/system.hpp"
#include "messages/cluster.capnp.h"
#include "messages/lists.hpp"
#include "messages/train.capnp.h"
#include "runtime/base/error.hpp"
#include "tests/bench/bench_support.hpp"
#include "tests/bench/tcp_floor.hpp"

namespace d9d {
namespace {

constexpr ActorId asker_id{Role::probe, 1};
constexpr ActorId echo_id{Role::probe, 2};
constexpr std::uint64_t warmup_rounds = 500;
constexpr std::uint64_t window_messages = 4096;     // one-way messages in flight
constexpr std::uint64_t messages_per_answer = 256;  // the sink answers once for so many
constexpr std::chrono::seconds patience{120};

constexpr double payload[8] = {1, 2, 3, 4, 5, 6, 7, 8};

// Answers every ReduceValues (SUM), or every messages_per_answer-th (MAX): one-way traffic with credits.
class Echo final : public Actor {
 public:
  explicit Echo(World& world, std::function<void(std::uint16_t)> opened = nullptr)
      : Actor(world), opened_(std::move(opened)) {}
  void behavior(Handlers& handlers) override { handlers.on(this, &Echo::reduce_values); }
  void started() override {
    if (opened_) opened_(host().publish("127.0.0.1", 0));
  }
  void reduce_values(wire::ReduceValues::Reader message) {
    if (attached()) {  // the first message of another process
      world().book.enter_node(0, attached());
      world().book.set_node_of([](ActorId) { return 0; });
    }
    const bool one_way = message.getOperation() == wire::ReduceValues::Operation::MAX;
    if (one_way && (message.getOrder() + 1) % messages_per_answer != 0) return;
    tell<wire::ValuesReduced>(sender(), [&](wire::ValuesReduced::Builder reply) {
      reply.setOrder(message.getOrder());
      fill_list(reply.initValues(8), message.getValues());
    });
  }

 private:
  std::function<void(std::uint16_t)> opened_;
};

struct Result {
  std::vector<double> round_trips_us;
  double messages_per_second = 0;
  double cpu_us_per_round_trip = 0;
};

struct AskerOptions {
  Threading echo_threading = Threading::pool;
  std::uint64_t rounds = 0;
  std::uint16_t port = 0;  // 0: the echo is a child in this process
  std::promise<Result>* done = nullptr;
};

class Asker final : public Actor {
 public:
  Asker(World& world, AskerOptions options) : Actor(world), options_(options) {}
  void behavior(Handlers& handlers) override {
    handlers.on(this, &Asker::values_reduced);
    handlers.on_any_epoch(this, &Asker::dialed);
  }
  void started() override {
    if (options_.port != 0) return host().dial("127.0.0.1", options_.port, 0);
    spawn(echo_id, options_.echo_threading, [](World& w) { return std::make_unique<Echo>(w); });
    ask(nullptr);
  }
  void dialed(wire::Dialed::Reader message) {
    D9D_CHECK(message.getOk(), "no connection: {}", std::string(message.getReason()));
    world().book.enter_node(0, attached());
    world().book.set_node_of([](ActorId) { return 0; });
    ask(host().mailbox());
  }
  void values_reduced(wire::ValuesReduced::Reader message) {
    if (one_way_) return answered(message.getOrder());
    if (order_ > warmup_rounds) {
      result_.round_trips_us.push_back(1e-3 * static_cast<double>(world().clock.now_ns() - asked_ns_));
    } else if (order_ == warmup_rounds) {
      cpu_begin_ = cpu_seconds();
    }
    if (order_ < warmup_rounds + options_.rounds) return ask(nullptr);
    result_.cpu_us_per_round_trip = 1e6 * (cpu_seconds() - cpu_begin_) / static_cast<double>(options_.rounds);
    stream();
  }

 private:
  void ask(const MailboxPtr& answer_to) {
    ++order_;
    asked_ns_ = world().clock.now_ns();
    send(wire::ReduceValues::Operation::SUM, order_, answer_to);
  }
  void send(wire::ReduceValues::Operation operation, std::uint64_t order, const MailboxPtr& answer_to) {
    tell<wire::ReduceValues>(
        echo_id,
        [&](wire::ReduceValues::Builder reduce) {
          reduce.setOrder(order);
          reduce.setOperation(operation);
          fill_list(reduce.initValues(8), payload);
        },
        answer_to);
  }
  void stream() {
    one_way_ = true;
    total_ = options_.rounds * 10 / messages_per_answer * messages_per_answer;
    begin_ns_ = world().clock.now_ns();
    while (sent_ < std::min(window_messages, total_))
      send(wire::ReduceValues::Operation::MAX, sent_++, nullptr);
  }
  void answered(std::uint64_t order) {
    for (std::uint64_t i = 0; i < messages_per_answer && sent_ < total_; ++i) {
      send(wire::ReduceValues::Operation::MAX, sent_++, nullptr);
    }
    if (order + 1 < total_) return;
    result_.messages_per_second =
        1e9 * static_cast<double>(total_) / static_cast<double>(world().clock.now_ns() - begin_ns_);
    options_.done->set_value(std::move(result_));
  }

  AskerOptions options_;
  Result result_;
  std::uint64_t order_ = 0;
  std::int64_t asked_ns_ = 0, begin_ns_ = 0;
  double cpu_begin_ = 0;
  bool one_way_ = false;
  std::uint64_t sent_ = 0, total_ = 0;
};

nlohmann::json summary(std::vector<double> round_trips) {
  std::sort(round_trips.begin(), round_trips.end());
  const auto at = [&](double share) {
    return round_trips.at(static_cast<std::size_t>(share * static_cast<double>(round_trips.size() - 1)));
  };
  return {{"p50_us", at(0.5)}, {"p99_us", at(0.99)}};
}

struct Case {
  const char* name;
  Threading asker;
  Threading echo;
  bool tcp = false;
};

nlohmann::json run_case(const Case& given, bool traced, std::uint64_t rounds, std::uint16_t port) {
  const SystemClock clock;
  trace::Recorder recorder;
  World world{.clock = clock, .recorder = traced ? &recorder : nullptr};
  ActorSystem system(world, {});
  std::promise<Result> done;
  auto future = done.get_future();
  const AskerOptions options{given.echo, rounds, port, &done};
  system.spawn_root(asker_id, given.asker, [&](World& w) { return std::make_unique<Asker>(w, options); });
  if (future.wait_for(patience) != std::future_status::ready) {
    throw Error(ErrorKind::environment,
                fmt::format("{}: no answer within {} s", given.name, patience.count()));
  }
  const Result result = future.get();
  nlohmann::json row = summary(result.round_trips_us);
  row["cpu_us"] = result.cpu_us_per_round_trip;  // of this process
  row["messages_per_second"] = result.messages_per_second;
  stop_actor(world, echo_id);
  stop_actor(world, asker_id);
  system.await_all(patience);
  return row;
}

// The other process: an Echo behind a port, until its standard input closes.
int serve(int port_pipe, int stop_pipe, bool traced) {
  const SystemClock clock;
  trace::Recorder recorder;
  World world{.clock = clock, .recorder = traced ? &recorder : nullptr};
  ActorSystem system(world, {});
  const auto tell_port = [port_pipe](std::uint16_t port) {
    if (write(port_pipe, &port, sizeof port) != sizeof port) std::abort();
  };
  system.spawn_root(echo_id, Threading::own_thread,
                    [&](World& w) { return std::make_unique<Echo>(w, tell_port); });
  char byte = 0;
  while (read(stop_pipe, &byte, 1) > 0) {
  }
  stop_actor(world, echo_id);
  system.await_all(patience);
  return 0;
}

nlohmann::json run_tcp(const Case& given, bool traced, std::uint64_t rounds) {
  int port_pipe[2], stop_pipe[2];
  if (pipe(port_pipe) != 0 || pipe(stop_pipe) != 0) throw Error(ErrorKind::environment, "pipe() failed");
  const pid_t child = fork();  // no thread is running yet, or none any more
  if (child == 0) {
    close(stop_pipe[1]);
    _exit(serve(port_pipe[1], stop_pipe[0], traced));
  }
  std::uint16_t port = 0;
  const bool opened = read(port_pipe[0], &port, sizeof port) == sizeof port;
  if (!opened) throw Error(ErrorKind::environment, "the other process opened no port");
  nlohmann::json row = run_case(given, traced, rounds, port);
  close(stop_pipe[1]);
  waitpid(child, nullptr, 0);
  for (const int end : {port_pipe[0], port_pipe[1], stop_pipe[0]}) close(end);
  return row;
}

int run(std::uint64_t rounds) {
  const Case cases[] = {{"pool to pool", Threading::pool, Threading::pool},
                        {"pool to own thread", Threading::pool, Threading::own_thread},
                        {"own thread to own thread", Threading::own_thread, Threading::own_thread},
                        {"two processes over TCP", Threading::own_thread, Threading::own_thread, true}};
  nlohmann::json report = {{"payload_bytes", sizeof payload}, {"rounds", rounds}};
  const Frame frame = encode<wire::ReduceValues>(
      {}, [](wire::ReduceValues::Builder reduce) { fill_list(reduce.initValues(8), payload); });
  report["frame_bytes"] = frame.size_bytes();
  for (const Case& given : cases) {
    for (const bool traced : {false, true}) {
      auto row = given.tcp ? run_tcp(given, traced, rounds / 4) : run_case(given, traced, rounds, 0);
      row["case"] = given.name;
      row["traced"] = traced;
      report["hops"].push_back(std::move(row));
    }
  }
  nlohmann::json floor = summary(tcp_floor_us(rounds / 4, sizeof payload));
  floor["case"] = "plain TCP socket, two threads";
  report["hops"].push_back(std::move(floor));
  std::cout << report.dump(1) << "\n";
  return 0;
}

}  // namespace
}  // namespace d9d

int main(int argc, char** argv) {
  const bool given = argc == 3 && std::string(argv[1]) == "--rounds";
  try {
    return d9d::run(given ? std::stoull(argv[2]) : 20000);
  } catch (const std::exception& error) {
    std::cerr << "bench_actors: " << error.what() << "\n";
    return 1;
  }
}
