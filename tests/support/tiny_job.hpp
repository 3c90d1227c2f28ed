#pragma once
// A job of seconds in a new folder, run by the real d9d-node, and what it leaves behind.

#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "tests/support/outcome.hpp"
#include "tests/support/process/process.hpp"
#include "tests/support/temporary_folder.hpp"

namespace d9d::test {

using Words = std::vector<std::string>;
using Environment = std::map<std::string, std::string>;

Words operator+(Words a, const Words& b);
Words set(const std::string& key, const std::string& value);  // --set key=value
Words mesh(int pipeline, int replicas);
Words experts_on(int ranks);   // expert_parallel
Words matrices_on(int ranks);  // tensor_parallel
Words named(const std::string& run);

class TinyJob {
 public:
  TinyJob();

  const TemporaryFolder& folder() const { return folder_; }
  std::string text() const;                                           // of job.yaml
  void rewrite(const std::string& before, const std::string& after);  // in job.yaml; `before` has to be there

  // `d9d-node WORDS...` in the folder, or another program of the build.
  std::unique_ptr<Process> spawn(const Words& words, const Environment& environment = {},
                                 const std::string& program = "d9d-node");
  // `d9d-node job.yaml WORDS...`, started by other words (NetworkNamespaces::on).
  std::unique_ptr<Process> start_within(const Words& wrapper, const Words& words,
                                        const Environment& environment = {});
  // `d9d-node WORDS...`, to its end; by the job server (job_server.hpp).
  Outcome call(const Words& words);
  // `d9d-node job.yaml WORDS...`
  std::unique_ptr<Process> start(const Words& words, const Environment& environment = {});
  Outcome run(const Words& words);
  // Two processes, each with half of `ranks`; node 0 is the first. The words go to both.
  std::pair<std::unique_ptr<Process>, std::unique_ptr<Process>> start_two(int ranks, const Words& words);

  std::filesystem::path run_folder(const std::string& run) const { return folder_.path() / "runs" / run; }
  // Of metrics.jsonl, in the order of its lines.
  std::vector<double> losses(const std::string& run) const;
  // Until so many steps of a run are in its metrics.
  void wait_for_steps(Process& process, std::size_t steps, const std::string& run = "tiny") const;
  std::vector<double> values(const std::string& run,
                             const std::string& key) const;  // of the lines that have it
  std::vector<std::string> exact_curve(
      const std::string& run) const;  // step, loss, norm and tokens so far, to the last digit
  // Steps of the committed checkpoints, ascending.
  std::vector<int> checkpoints(const std::string& run) const;

 private:
  std::unique_ptr<Process> spawn_words(const Words& words, const Environment& environment);
  ProcessOptions options_of(const Words& words, const Environment& environment);

  TemporaryFolder folder_;
  int spawned_ = 0;
};

// The port in "listening on 127.0.0.1:PORT" (or another host, as it is printed), awaited.
std::string port_of(Process& process, const std::string& host = "127.0.0.1");

}  // namespace d9d::test
