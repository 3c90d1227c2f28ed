#include "runtime/metric/bridge/bridge_run.hpp"

#include <utility>

#include "d9d_bridge_script.h"
#include "runtime/base/error.hpp"
#include "runtime/base/host/start_program.hpp"
#include "runtime/base/json_text.hpp"
#include "runtime/base/log.hpp"
#include "runtime/metric/sink/picture_file.hpp"

namespace d9d {
namespace {

constexpr std::chrono::seconds patience_at_the_end{7};  // less than actors get to end
constexpr std::chrono::seconds patience_with_python{30};

std::filesystem::path place(const BridgeOptions& options, const char* ending) {
  return options.folder / (options.provider + ending);
}

// Removes the file of an earlier start, so that this one writes its own numbers alone; the state file
// knows which were sent before. A bridge that still reads the old file can continue to read it.
std::filesystem::path fresh(const std::filesystem::path& path) {
  std::filesystem::create_directories(path.parent_path());
  std::filesystem::remove(path);
  return path;
}

std::vector<std::string> words_of(const BridgeOptions& options) {
  const nlohmann::json job{{"provider", options.provider},
                           {"settings", options.settings},
                           {"values", place(options, ".jsonl").string()},
                           {"state", place(options, ".json").string()},
                           {"problem", place(options, ".problem").string()},
                           {"record", options.record.string()},
                           {"run", options.run},
                           {"description", options.description}};
  return {python_program(), "-c", bridge_script, json_text(job)};
}

nlohmann::json json_of(const std::filesystem::path& folder, const Point& point, const TrackerValue& value) {
  if (const auto* histogram = std::get_if<Histogram>(&value)) {
    std::vector<double> edges;
    for (std::size_t i = 0; i <= histogram->counts.size(); ++i) edges.push_back(histogram->edge(i));
    return {{"counts", histogram->counts}, {"edges", edges}};
  }
  if (const auto* text = std::get_if<TextRecord>(&value)) return {{"text", text->text}};
  if (const auto* picture = std::get_if<Picture>(&value)) {
    return {{"picture", (folder / write_picture(folder, point, *picture)).string()}};
  }
  return std::get<Scalar>(value).value;
}

}  // namespace

void require_client(const std::string& provider) {
  const std::string code = "import importlib.util, sys\nassert importlib.util.find_spec(sys.argv[1])";
  std::optional<int> ended;
  std::string problem;
  try {
    ended = ChildProcess({python_program(), "-c", code, provider}, "/dev/null")
                .ended_within(patience_with_python);
  } catch (const Error& error) {
    problem = error.what();
  }
  D9D_REQUIRE(
      ended == 0,
      "the tracker \"{}\" needs its Python package, which {} does not have{}; install it (python3 -m pip "
      "install {}), or name the Python that has it in the variable D9D_PYTHON, or choose tensorboard "
      "(metrics.jsonl is written in any case)",
      provider, python_program(), problem.empty() ? "" : " (" + problem + ")", provider);
}

BridgeRun::BridgeRun(const BridgeOptions& options)
    : provider_(options.provider),
      log_(place(options, ".log")),
      problem_(fresh(place(options, ".problem"))),
      values_(fresh(place(options, ".jsonl")), AppendFile::Mode::create_new),
      process_(words_of(options), log_) {}

BridgeRun::~BridgeRun() {
  try {
    close();
  } catch (const std::exception& error) {
    log::warn("{}", error.what());
  }
}

// A number that has no place on the disk is lost to the tracker, and to it alone.
void BridgeRun::append(const nlohmann::json& line) {
  try {
    values_.append(shown_json(line) + "\n");
  } catch (const Error& error) {
    if (!std::exchange(lost_, true))
      log::warn("some numbers are not sent to {}: {}", provider_, error.what());
  }
}

void BridgeRun::hparams(const nlohmann::json& hparams) {
  nlohmann::json flat = nlohmann::json::object();
  for (const auto& [name, leaf] : flat_hparams(hparams)) flat[name] = leaf;
  append({{"hparams", flat}});
}

void BridgeRun::write(const Point& point, const TrackerValue& value) {
  const auto* scalar = std::get_if<Scalar>(&value);
  if (scalar != nullptr && scalar->is_time) return;
  try {
    const std::string name = flat_name(point);
    nlohmann::json& line = waiting_[point.step];
    line["values"][name] = json_of(log_.parent_path(), point, value);
    if (!point.context.empty()) line["contexts"][name] = {{"name", point.name}, {"context", point.context}};
  } catch (const Error& error) {
    log::warn("{}", error.what());
  }
}

void BridgeRun::end_step(std::int64_t step) {
  while (!waiting_.empty() && waiting_.begin()->first <= step) {
    auto line = waiting_.extract(waiting_.begin());
    line.mapped()["step"] = line.key();
    append(line.mapped());
  }
  look_after();
}

void BridgeRun::look_after() {
  if (ended_early_) return;
  if (values_.is_open()) {
    if (const auto code = process_.ended_within(std::chrono::milliseconds(0))) {
      ended_early_ = true;
      log::warn("{} gets no more numbers: its bridge ended with code {}; see {}", provider_, *code,
                log_.string());
      return;
    }
  }
  std::error_code ignored;
  const bool trouble = std::filesystem::exists(problem_, ignored);
  if (trouble == in_trouble_) return;
  in_trouble_ = trouble;
  if (!trouble) return log::info("{} takes the numbers again", provider_);
  log::warn(
      "{} does not take the numbers: {}. They are kept and sent again until it does, training goes on; see "
      "{}",
      provider_, read_whole_file(problem_), log_.string());
}

void BridgeRun::flush() {
  if (!waiting_.empty()) end_step(waiting_.rbegin()->first);
}

void BridgeRun::begin_close() {
  if (!values_.is_open()) return;
  flush();
  values_.close();
  process_.end_input();
  deadline_ = std::chrono::steady_clock::now() + patience_at_the_end;
}

void BridgeRun::close() {
  if (std::exchange(closed_, true)) return;
  begin_close();
  const auto left = deadline_ - std::chrono::steady_clock::now();
  const std::optional<int> code =
      process_.ended_within(std::chrono::duration_cast<std::chrono::milliseconds>(left));
  if (!code) {
    log::info("{} still gets its numbers, from process {}, which ends by itself", provider_, process_.pid());
  } else if (*code != 0 && !ended_early_) {
    log::warn("{} did not get all numbers: its bridge ended with code {}; see {}", provider_, *code,
              log_.string());
  }
}

}  // namespace d9d
