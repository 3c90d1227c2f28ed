#include "actors/core/caf_gate.hpp"

#include <caf/all.hpp>
#include <caf/io/all.hpp>
#include <caf/io/basp_broker.hpp>
#include <caf/io/middleman_actor_impl.hpp>
#include <caf/io/network/default_multiplexer.hpp>
#include <caf/io/network/interfaces.hpp>
#include <caf/io/network/stream_impl.hpp>

#include "actors/core/join_screen.hpp"
#include "actors/core/peer_words.hpp"
#include "actors/core/tsan_order.hpp"
#include "runtime/base/error.hpp"
#include "runtime/base/host/host_port.hpp"
#include "runtime/net/dial.hpp"

namespace d9d {
namespace {

using caf::io::network::default_multiplexer;
using caf::io::network::native_socket;
using caf::io::network::rw_state;

// CAF's error code that stands for a StrangerError, while it passes through the actor that dials.
constexpr caf::sec stranger = caf::sec::incompatible_versions;

// The most connections that have not joined yet: a node needs milliseconds to join.
constexpr std::size_t joining_max = 256;

// How long a connection may take. Short, because the Node dials again.
constexpr std::chrono::seconds patience{10};

// CAF's queues hand scribes, doormen and closures of other threads to the thread of its loop, but
// ThreadSanitizer does not see that order. All of them use one address, because the loop's thread must
// acquire before it reads the object.
constexpr char loop_order{};

// The policy that CAF's stream reads and writes bytes with.
struct ChannelPolicy {
  std::unique_ptr<net::Channel> channel;

  static rw_state state_of(net::Io io) {
    if (io == net::Io::done) return rw_state::success;
    return io == net::Io::failed ? rw_state::failure : rw_state::indeterminate;
  }
  rw_state read_some(std::size_t& result, native_socket, void* data, std::size_t bytes) const {
    result = 0;
    return state_of(channel->read(data, bytes, result));
  }
  rw_state write_some(std::size_t& result, native_socket, const void* data, std::size_t bytes) const {
    result = 0;
    const iovec part{const_cast<void*>(data), bytes};
    return bytes == 0 ? rw_state::success : state_of(channel->write(&part, 1, result));
  }
  bool must_read_more(native_socket, std::size_t) const { return channel->hides_bytes(); }
};

class ChannelScribe final : public caf::io::scribe {
 public:
  // `complaints`: shared by all connections that the other side has dialled.
  ChannelScribe(default_multiplexer& mpx, std::unique_ptr<net::Channel> channel,
                std::shared_ptr<Connection> connection,
                std::shared_ptr<net::Complaints> complaints = std::make_shared<net::Complaints>())
      : ChannelScribe(mpx, channel->release_fd(), channel, std::move(connection)) {
    complaints_ = std::move(complaints);
  }

  bool consume(caf::execution_unit* loop, const void* data, std::size_t bytes) override {
    if (detached()) return false;
    const bool member = connection_->is_member();
    if (!member && !passes_screen(loop, data, bytes)) return false;
    const Arrival arrival{*connection_, member ? caf::node_id() : peer()};
    const Arriving arriving(arrival);
    return scribe::consume(loop, data, bytes);
  }

  void configure_read(caf::io::receive_policy::config config) override {
    tsan_acquire(&loop_order);
    stream_.configure_read(config);
    if (!std::exchange(launched_, true)) stream_.start(this);
  }
  void ack_writes(bool enable) override { stream_.ack_writes(enable); }
  std::vector<char>& wr_buf() override { return stream_.wr_buf(); }
  std::vector<char>& rd_buf() override { return stream_.rd_buf(); }
  void graceful_shutdown() override {
    stream_.graceful_shutdown();
    detach(&stream_.backend(), false);
  }
  void flush() override { stream_.flush(this); }
  std::string addr() const override {
    auto address = caf::io::network::remote_addr_of_fd(stream_.fd());
    return address ? *address : std::string();
  }
  std::uint16_t port() const override {
    const auto port = caf::io::network::remote_port_of_fd(stream_.fd());
    return port ? *port : std::uint16_t{0};
  }
  void add_to_loop() override { stream_.activate(this); }
  void remove_from_loop() override { stream_.passivate(); }

 private:
  // The stream closes the socket.
  ChannelScribe(default_multiplexer& mpx, native_socket socket, std::unique_ptr<net::Channel>& channel,
                std::shared_ptr<Connection> connection)
      : scribe(caf::io::network::conn_hdl_from_socket(socket)),
        connection_(std::move(connection)),
        stream_(mpx, socket, ChannelPolicy{std::move(channel)}) {}

  // Screens the bytes of a connection that has not joined; bytes that do not pass end it.
  bool passes_screen(caf::execution_unit* loop, const void* data, std::size_t bytes) {
    if (!screen_)
      screen_.emplace(published(), [this](const caf::node_id& name) { return is_elsewhere(name); });
    const auto trouble = screen_->trouble_with(data, bytes);
    if (!trouble) return true;
    if (!trouble->empty())
      complaints_->add(
          fmt::format("closed a connection from {}: {}", host_port_text(addr(), port()), *trouble));
    io_failure(loop, caf::io::network::operation::read);
    return false;
  }
  caf::io::basp::instance& basp() { return dynamic_cast<caf::io::basp_broker&>(*parent()).instance; }
  // A client shakes hands twice, and its name is known at the second time.
  bool is_elsewhere(const caf::node_id& name) {
    const auto found = basp().tbl().lookup_direct(name);
    return name == basp().this_node() || (found && *found != hdl());
  }
  caf::node_id peer() { return basp().tbl().lookup_direct(hdl()); }
  // The published actor is the Node: a process publishes no other.
  caf::actor_id published() {
    const auto& all = basp().published_actors();
    return all.empty() ? caf::invalid_actor_id : all.begin()->second.first->id();
  }

  const std::shared_ptr<Connection> connection_;
  std::shared_ptr<net::Complaints> complaints_;
  std::optional<JoinScreen> screen_;  // from the first bytes on
  bool launched_ = false;
  caf::io::network::stream_impl<ChannelPolicy> stream_;
};

// CAF takes this for a port; its connections come from the gate.
class GateDoorman final : public caf::io::doorman, public net::Taker {
 public:
  GateDoorman(default_multiplexer& mpx, net::Gate& gate, Connections& connections)
      : doorman(caf::io::accept_handle::from_int(gate.port())),
        mpx_(mpx),
        gate_(gate),
        connections_(connections) {}

  void launch() override {
    tsan_acquire(&loop_order);
    add_to_loop();
  }
  void add_to_loop() override {
    for (const net::Purpose purpose : taken) gate_.set_taker(purpose, this);
  }
  void remove_from_loop() override {
    for (const net::Purpose purpose : taken) gate_.remove_taker(purpose, this);
  }
  void graceful_shutdown() override {
    remove_from_loop();
    detach(&mpx_, false);
  }
  bool new_connection() override { return true; }
  std::string addr() const override { return "gate"; }
  std::uint16_t port() const override { return gate_.port(); }

  // Connections that stay silent after their proof must not use up all file descriptors.
  net::Answer ask(const net::Hello& hello) override {
    const bool full = hello.purpose == net::Purpose::joining && connections_.num_joining() >= joining_max;
    return {full ? net::Verdict::later : net::Verdict::yes};
  }
  void take(std::unique_ptr<net::Channel> channel, const net::Hello& hello) override {
    auto connection = connections_.open(hello.purpose == net::Purpose::actors);
    tsan_release(&loop_order);
    mpx_.post([self = caf::intrusive_ptr<GateDoorman>(this), channel = std::move(channel),
               connection = std::move(connection)]() mutable {
      tsan_acquire(&loop_order);
      if (self->detached()) return;
      auto scribe = caf::make_counted<ChannelScribe>(self->mpx_, std::move(channel), std::move(connection),
                                                     self->complaints_);
      const auto handle = scribe->hdl();
      self->parent()->add_scribe(std::move(scribe));
      self->doorman::new_connection(&self->mpx_, handle);
    });
  }

 private:
  static constexpr net::Purpose taken[] = {net::Purpose::actors, net::Purpose::joining};

  default_multiplexer& mpx_;
  net::Gate& gate_;
  Connections& connections_;
  // Used on the loop's thread only.
  const std::shared_ptr<net::Complaints> complaints_ = std::make_shared<net::Complaints>();
};

class GateMiddleman final : public caf::io::middleman_actor_impl {
 public:
  GateMiddleman(caf::actor_config& config, caf::actor broker, net::Gate* gate, Connections* connections)
      : middleman_actor_impl(config, std::move(broker)), gate_(*gate), connections_(*connections) {}
  const char* name() const override { return "d9d.gate"; }

 private:
  default_multiplexer& multiplexer() {
    return dynamic_cast<default_multiplexer&>(system().middleman().backend());
  }
  caf::expected<caf::io::scribe_ptr> connect(const std::string& host, std::uint16_t port) override {
    const auto purpose = gate_.secrets().is_member() ? net::Purpose::actors : net::Purpose::joining;
    try {
      auto channel = net::dial({.host = host,
                                .port = port,
                                .tls = gate_.tls(),
                                .secrets = &gate_.secrets(),
                                .hello = {.purpose = purpose},
                                .deadline = std::chrono::steady_clock::now() + patience});
      // A member: this process has dialled it, and it has proved that it knows the secret.
      caf::io::scribe_ptr scribe(
          caf::make_counted<ChannelScribe>(multiplexer(), std::move(channel), connections_.open(true)));
      tsan_release(&loop_order);
      return scribe;
    } catch (const net::StrangerError& error) {
      return caf::make_error(stranger, std::string(error.what()));
    } catch (const std::exception& error) {
      return caf::make_error(caf::sec::cannot_connect_to_node, std::string(error.what()));
    }
  }
  caf::expected<caf::io::doorman_ptr> open(std::uint16_t, const char*, bool) override {
    caf::io::doorman_ptr doorman(caf::make_counted<GateDoorman>(multiplexer(), gate_, connections_));
    tsan_release(&loop_order);
    return doorman;
  }

  net::Gate& gate_;
  Connections& connections_;
};

// The error of connect() above, or CAF's own error in our words.
std::string text_of(const caf::error& error) {
  const caf::message& context = error.context();
  if (context.match_elements<std::string>()) return context.get_as<std::string>(0);
  return why_unreachable(error);
}

}  // namespace

CafGate::CafGate(caf::actor_system& system, net::Gate& gate, Connections& connections)
    : system_(system), gate_(gate) {
  const caf::actor broker = system.middleman().named_broker<caf::io::basp_broker>(caf::atom("BASP"));
  manager_ = system.spawn<GateMiddleman, caf::detached + caf::hidden>(broker, &gate, &connections);
}

CafGate::~CafGate() {
  const caf::scoped_actor self(system_, true);
  self->send_exit(manager_, caf::exit_reason::kill);
  self->wait_for(manager_);
}

std::uint16_t CafGate::publish(const caf::strong_actor_ptr& actor, const std::string& host,
                               std::uint16_t port) {
  const std::uint16_t open = gate_.listen(host, port);
  auto ask = caf::make_function_view(manager_);
  const auto published = ask(caf::publish_atom::value, open, actor, std::set<std::string>(), host, true);
  D9D_CHECK(published, "CAF does not publish at port {}: {}", open, system_.render(published.error()));
  return open;
}

caf::strong_actor_ptr CafGate::remote_actor(const std::string& host, std::uint16_t port) {
  auto ask = caf::make_function_view(manager_);
  const auto found = ask(caf::connect_atom::value, host, port);
  if (!found && found.error() == stranger) throw net::StrangerError(text_of(found.error()));
  if (!found) throw Error(ErrorKind::environment, text_of(found.error()));
  const auto& actor = std::get<1>(*found);
  if (!actor) throw Error(ErrorKind::environment, "the node that answers is ending");
  return actor;
}

}  // namespace d9d
