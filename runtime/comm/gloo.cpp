// Compiled with hidden visibility: the inline code of Debian's Gloo headers must not take the place of the
// wheel's, which is another version. Only c10d's own classes are used here, whose layout comes from the
// wheel's headers.
#include "runtime/comm/gloo.hpp"

#include <ATen/ops/from_blob.h>

#include <csignal>
#include <mutex>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>

#include "runtime/base/error.hpp"
#include "runtime/comm/exchange.hpp"
#include "runtime/comm/store_handle.hpp"

namespace d9d {
namespace {

using std::chrono::milliseconds;

// "[/pytorch/.../pair.cc:547] Connection closed by peer [127.0.0.1]:17319\n<stack>" -> what a person wants of
// it.
std::string readable(const std::exception& error) {
  std::string text = error.what();
  text = text.substr(0, text.find('\n'));
  const std::size_t place = text.find("] ");
  return text.starts_with("[/") && place != std::string::npos ? text.substr(place + 2) : text;
}

// The first line of what Gloo throws, without its place.
template <class Call>
auto with_readable_error(Call&& call) {
  try {
    return call();
  } catch (const std::exception& error) {
    throw std::runtime_error(readable(error));
  }
}

class GlooTransfer final : public comm::Transfer {
 public:
  explicit GlooTransfer(c10::intrusive_ptr<c10d::Work> work) : work_(std::move(work)) {}
  void wait(milliseconds timeout) override {
    const bool done = with_readable_error([&] { return work_->wait(timeout); });
    if (!done) throw std::runtime_error("aborted");
  }
  void abort() noexcept override {
    try {
      work_->abort();
    } catch (const std::exception&) {  // it is over already
    }
  }

 private:
  const c10::intrusive_ptr<c10d::Work> work_;
};

// Gloo's own collectives pass through a worker thread and its rings; these sends and receives are completed
// by the device thread alone, which is three times as fast for small tensors.
class GlooLinks final : public comm::PeerLinks {
 public:
  explicit GlooLinks(c10::intrusive_ptr<c10d::ProcessGroupGloo> group) : group_(std::move(group)) {}

  std::unique_ptr<comm::Transfer> send(int peer, const void* data, std::size_t bytes, int tag) override {
    std::vector<at::Tensor> tensors{view(const_cast<void*>(data), bytes)};
    const std::lock_guard lock(mutex_);
    return with_readable_error(
        [&] { return std::make_unique<GlooTransfer>(group_->send(tensors, peer, tag)); });
  }
  std::unique_ptr<comm::Transfer> receive(int peer, void* data, std::size_t bytes, int tag) override {
    std::vector<at::Tensor> tensors{view(data, bytes)};
    const std::lock_guard lock(mutex_);
    return with_readable_error(
        [&] { return std::make_unique<GlooTransfer>(group_->recv(tensors, peer, tag)); });
  }
  void set_timeout(milliseconds timeout) override {
    const std::lock_guard lock(mutex_);
    group_->setTimeout(timeout);
  }

 private:
  static at::Tensor view(void* data, std::size_t bytes) {
    return at::from_blob(data, {static_cast<std::int64_t>(bytes)}, at::kByte);
  }

  std::mutex mutex_;
  const c10::intrusive_ptr<c10d::ProcessGroupGloo> group_;
};

std::string here_key(int index) {
  return fmt::format("here/{}", index);
}

// Says who is missing, which Gloo's own rendezvous cannot.
void await_members(c10d::Store& store, const Group& group, milliseconds timeout) {
  std::vector<std::string> keys;
  for (int index = 0; index < group.size(); ++index) keys.push_back(here_key(index));
  store.set(here_key(group.index), std::string("1"));
  try {
    store.wait(keys, timeout);
  } catch (const std::exception&) {
    std::string missing;
    for (int index = 0; index < group.size(); ++index) {
      if (!store.check({here_key(index)})) missing += fmt::format(" {}", group.ranks[index]);
    }
    comm::fail_in_group("open", group.name, "gloo",
                        fmt::format("ranks{} did not come within {} ms", missing, timeout.count()));
  }
}

// Gloo writes to its sockets without MSG_NOSIGNAL: a peer that is gone would end this process without a word.
// An owner of the process who handles the signal keeps his handler.
void ignore_broken_pipes() {
  struct sigaction now {};
  if (sigaction(SIGPIPE, nullptr, &now) == 0 && now.sa_handler == SIG_DFL) std::signal(SIGPIPE, SIG_IGN);
}

}  // namespace

struct GlooTransport::Device {
  std::shared_ptr<gloo::transport::Device> device;
};

GlooTransport::GlooTransport(const std::string& address, Store& store)
    : device_(std::make_unique<Device>()), store_(store) {
  ignore_broken_pipes();
  try {
    device_->device = c10d::ProcessGroupGloo::createDeviceForHostname(address);
  } catch (const std::exception& error) {
    throw Error(ErrorKind::environment,
                fmt::format("gloo: cannot use address {}: {}", address, readable(error)));
  }
}
GlooTransport::~GlooTransport() = default;

std::unique_ptr<Communicator> GlooTransport::open(const Group& group, milliseconds timeout) {
  try {
    // A group opened again meets under a new key.
    const std::int64_t opened = store_.add(fmt::format("gloo/{}/{}", group.name, group.index), 1);
    const auto store = c10::make_intrusive<c10d::PrefixStore>(fmt::format("gloo/{}/{}", group.name, opened),
                                                              store_.connect()->store);
    await_members(*store, group, timeout);
    auto options = c10d::ProcessGroupGloo::Options::create(timeout);
    options->threads = 1;
    options->devices.push_back(device_->device);
    auto links = std::make_unique<GlooLinks>(
        c10::make_intrusive<c10d::ProcessGroupGloo>(store, group.index, group.size(), options));
    return std::make_unique<comm::ExchangeCommunicator>(std::move(links), group, "gloo", timeout);
  } catch (const Error&) {
    throw;
  } catch (const std::exception& error) {
    comm::fail_in_group("open", group.name, "gloo", readable(error));
  }
}

}  // namespace d9d
