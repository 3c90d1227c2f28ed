#pragma once
// A program of one's own instead of d9d-node and a plugin: main() reads the job, trains, exports, and does what it
// likes before, between and after.
//
//   int main(int argc, char** argv) {
//     return d9d::run_program(argc, argv, [](d9d::OwnProgram& program) {
//       const d9d::ConfiguredJob job = program.configure("job.yaml", {"trainer.schedule.total_steps=100"});
//       program.train(job);
//       program.export_model(job, "model");
//     });
//   }
//
// Its pieces are those of its d9d_register() (runtime/plugin/registry.hpp) and d9d_register_actors(); the job names
// them without `plugins`. Each host starts the program as it would start d9d-node: with NODE_RANK or by srun, mpirun,
// torchrun; `node.processes` works, too. The CMake package d9d builds it: target_link_libraries(mine PRIVATE d9d::d9d).

#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "runtime/job/job_config.hpp"

namespace d9d {

struct ConfiguredJob {
  std::string file;
  std::vector<std::string>
      changes;       // KEY.PATH=VALUE as with `d9d-node --set`, and the pieces of this program
  JobConfig config;  // as it will run: file, changes and defaults
};

// A job that did not end well; it has logged why. The exit code is that of d9d-node.
struct JobFailed : std::runtime_error {
  explicit JobFailed(int code) : std::runtime_error("the job did not end well"), exit_code(code) {}
  int exit_code;
};

class OwnProgram {
 public:
  // By run_program() alone.
  OwnProgram(int argc, char** argv);
  ~OwnProgram();
  OwnProgram(const OwnProgram&) = delete;
  OwnProgram& operator=(const OwnProgram&) = delete;

  // Reads a job file with changes. Input error with everything that is wrong: file, line, key and remedy.
  ConfiguredJob configure(const std::string& file, std::vector<std::string> changes = {}) const;
  // Runs this host's part of a job to its end: trains, or infers where the job has `inference`. It goes on from a
  // committed checkpoint where there is one. Error(input) before anything is written where the job cannot run,
  // JobFailed where it did not end well. Jobs may follow one another. With `node.processes` the program is started
  // several times more, each for one job: there main() passes over the jobs and exports before that, and ends with it.
  void train(const ConfiguredJob& job);
  // True in one process of a job's hosts: the one to print, and to write files of its own.
  bool is_main(const ConfiguredJob& job) const;
  // Writes the model of the newest committed checkpoint as a folder that other programs can read. Does nothing where
  // is_main() is false. Input error where there is no checkpoint, or the model cannot be exported.
  void export_model(const ConfiguredJob& job, const std::string& folder) const;

 private:
  struct Process;
  const std::unique_ptr<Process> process_;
};

// Calls `body` in a process that is ready for jobs. Returns the exit code for main(): 0; that of a job that failed; 2
// for an input error, 1 for any other exception, whose text goes to stderr. Call it first in main(): OpenMP reads its
// settings when it is loaded, so where they are missing the program sets them and starts anew, once.
int run_program(int argc, char** argv, const std::function<void(OwnProgram&)>& body);

}  // namespace d9d
