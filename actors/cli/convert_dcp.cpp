#include "actors/cli/convert_dcp.hpp"

#include <fmt/format.h>

#include <limits>
#include <ostream>

#include "actors/job/process/work_progress.hpp"
#include "runtime/base/count.hpp"
#include "runtime/base/error.hpp"
#include "runtime/provider/moved_run.hpp"

namespace d9d {

int convert_dcp(const Arguments& arguments, Console& console) {
  for (const char* other :
       {"--from", "--to", "--base", "--dtype", "--replace", "--plugin", "--shard-size", "--threads"})
    D9D_REQUIRE(!arguments.has(other), "{} is for folders of models; with --from-dcp leave it out", other);
  const auto job = arguments.value("--job");
  D9D_REQUIRE(job,
              "convert --from-dcp: --job is missing; give the job file that is to go on with the checkpoint");
  const LoadedJob loaded = load_job(std::filesystem::path(*job), arguments.values("--set"));
  for (const std::string& warning : loaded.warnings) console.err << "warning: " << warning << "\n";
  PosixDisk disk;
  const SystemClock clock;
  RunMove move{.from = *arguments.value("--from-dcp"),
               .mapper = arguments.value("--mapper").value_or(""),
               .buffers = arguments.values("--buffers"),
               .moments = arguments.has("--weights") ? Moments::left_out : Moments::read};
  if (const auto sample = arguments.integer("--next-sample", 0, std::numeric_limits<std::int64_t>::max()))
    move.next_sample = static_cast<std::uint64_t>(*sample);
  MovedRun moved;
  {
    WorkProgress progress(console.err, is_on_terminal(), clock);
    move.progress = [&](std::uint64_t done, std::uint64_t total) { progress.update(done, total); };
    moved = move_run(disk, loaded, move);
  }
  for (const std::string& note : moved.notes) console.err << "note: " << note << "\n";
  console.out << fmt::format(
      "moved {} to {}: {}, {}; {} done, next sample {} in the order of the job's own data\n", move.from,
      moved.checkpoint, counted(moved.num_tensors, "tensor"), size_text(moved.bytes),
      counted(moved.step, "step"), moved.next_sample);
  return 0;
}

}  // namespace d9d
