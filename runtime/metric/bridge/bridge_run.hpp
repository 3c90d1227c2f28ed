#pragma once
// A run of a tracker whose client is a Python package (W&B, MLflow, Aim). This process appends
// values to a file, and bridge.py sends them in a process of its own. Only close() waits for it,
// for some seconds after begin_close().

#include <chrono>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "runtime/metric/bridge/child_process.hpp"
#include "runtime/metric/sink/append_file.hpp"
#include "runtime/metric/sink/tracker.hpp"

namespace d9d {

struct BridgeOptions {
  std::string provider;          // "wandb"
  nlohmann::json settings;       // its keys
  std::filesystem::path folder;  // of its files: values, state, log
  std::filesystem::path record;  // run.jsonl, which says how the job ended
  std::string run;               // its name
  std::string description = {};
};

// Input error that says how to install it: the Python that runs the bridge ($D9D_PYTHON, else
// python3) lacks the client's package.
void require_client(const std::string& provider);

class BridgeRun final : public TrackerRun {
 public:
  explicit BridgeRun(const BridgeOptions& options);
  ~BridgeRun() override;

  void write(const Point& point, const TrackerValue& value) override;
  void end_step(std::int64_t step) override;
  void hparams(const nlohmann::json& hparams) override;
  void flush() override;
  void begin_close() override;
  void close() override;

 private:
  void append(const nlohmann::json& line);
  void look_after();  // warns once if the tracker stops accepting values, and says when it works again

  const std::string provider_;
  const std::filesystem::path log_, problem_;
  AppendFile values_;
  std::map<std::int64_t, nlohmann::json> waiting_;  // lines by step
  bool lost_ = false, closed_ = false, in_trouble_ = false, ended_early_ = false;
  ChildProcess process_;
  std::chrono::steady_clock::time_point deadline_;  // for the end, once close() or begin_close() was called
};

}  // namespace d9d
