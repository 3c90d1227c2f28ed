#include "runtime/metric/sink/jsonl_sink.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <iterator>
#include <vector>

#include "runtime/base/count.hpp"
#include "runtime/base/error.hpp"
#include "runtime/base/json_text.hpp"
#include "runtime/base/log.hpp"
#include "runtime/metric/sink/picture_file.hpp"

namespace d9d {
namespace {

// A picture that has no place on the disk is lost alone.
nlohmann::ordered_json picture_json(const std::filesystem::path& folder, const Point& point,
                                    const Picture& picture) {
  try {
    return {{"picture", write_picture(folder, point, picture).string()}};
  } catch (const Error& error) {
    log::warn("{}", error.what());
    return nullptr;
  }
}

nlohmann::ordered_json to_json(const std::filesystem::path& folder, const Point& point,
                               const TrackerValue& value) {
  if (const auto* text = std::get_if<TextRecord>(&value)) return text->text;
  if (const auto* picture = std::get_if<Picture>(&value)) return picture_json(folder, point, *picture);
  if (const auto* histogram = std::get_if<Histogram>(&value)) {
    if (histogram->edges.empty()) return histogram->counts;
    return {{"edges", histogram->edges}, {"counts", histogram->counts}};
  }
  const auto& scalar = std::get<Scalar>(value);
  const bool exact = std::abs(scalar.value) <= 0x1p53 && std::trunc(scalar.value) == scalar.value;
  if (scalar.integer && exact) return static_cast<std::int64_t>(scalar.value);
  return scalar.value;
}

bool is_blank(std::string_view line) {
  return std::all_of(line.begin(), line.end(), [](char c) { return c == '\0' || c == ' '; });
}

// Of a line that a kill cut in half.
bool is_of_later_step(std::string_view line, std::int64_t last_step) {
  constexpr std::string_view begin = "{\"step\":";
  if (!line.starts_with(begin)) return false;
  std::int64_t step = 0;
  const char* const end = line.data() + line.size();
  const auto [next, error] = std::from_chars(line.data() + begin.size(), end, step);
  return error == std::errc() && next != end && step > last_step;
}

enum class Verdict { keep, purge, torn, foreign };

Verdict judge(std::string_view line, std::int64_t last_step, bool lacks_its_end) {
  const auto json = try_parse_json<nlohmann::json>(line);
  if (json.is_discarded() && lacks_its_end)
    return is_of_later_step(line, last_step) ? Verdict::purge : Verdict::torn;
  if (json.is_discarded()) return Verdict::foreign;
  const auto step = json.is_object() ? json.find("step") : json.end();
  if (!json.is_object() || step == json.end() || !step->is_number()) return Verdict::keep;
  return step->get<double>() > static_cast<double>(last_step) ? Verdict::purge : Verdict::keep;
}

// Bytes of zero are what a disk that lost power leaves, and say nothing.
void set_aside(const std::filesystem::path& path, const std::string& foreign) {
  const std::filesystem::path aside = path.string() + ".unreadable";
  AppendFile(aside, AppendFile::Mode::keep).append(foreign);
  log::warn(
      "{} in {} cannot be read as JSON and went to {}: were they cut off by a loss of power, or written by "
      "another program?",
      counted(static_cast<std::uint64_t>(std::count(foreign.begin(), foreign.end(), '\n')), "line"),
      path.string(), aside.string());
}

// Before the first step there is nothing to go on with: an earlier run may have ended here without a checkpoint.
void keep_earlier_run(const std::filesystem::path& path) {
  std::error_code error;
  if (std::filesystem::file_size(path, error) == 0 || error)
    return;  // no file is AppendFile's to make, or to refuse
  std::filesystem::path kept;
  for (int number = 1; kept.empty() || std::filesystem::exists(kept, error); ++number)
    kept = path.parent_path() / fmt::format("old-{}.{}", number, path.filename().string());
  std::filesystem::rename(path, kept, error);
  if (error)
    throw Error(ErrorKind::environment, fmt::format("cannot rename {}: {}", path.string(), error.message()));
  log::info("the run begins at step 1, and what an earlier one measured is kept as {}", kept.string());
}

void make_ready(const std::filesystem::path& path, std::int64_t last_step) {
  if (last_step == 0) return keep_earlier_run(path);
  purge_jsonl(path, last_step);
}

}  // namespace

bool purge_jsonl(const std::filesystem::path& path, std::int64_t last_step) {
  const std::string before = read_whole_file(path);
  std::string after, foreign;
  for (std::size_t start = 0; start < before.size();) {
    const std::size_t newline = before.find('\n', start);
    const std::size_t end = std::min(newline, before.size());
    const std::string_view line = std::string_view(before).substr(start, end - start);
    const Verdict verdict =
        line.empty() ? Verdict::purge : judge(line, last_step, newline == std::string::npos);
    if (verdict == Verdict::keep) after.append(line).push_back('\n');
    if (verdict == Verdict::foreign || (verdict == Verdict::torn && !is_blank(line)))
      foreign.append(line).push_back('\n');
    start = end + 1;
  }
  if (after == before) return false;
  if (!foreign.empty()) set_aside(path, foreign);
  replace_file(path, after);
  return true;
}

JsonlRun::JsonlRun(const std::filesystem::path& path, std::int64_t last_step)
    : file_((make_ready(path, last_step), path), AppendFile::Mode::keep),
      retry_(path),
      published_(last_step),
      forgotten_(last_step) {
  remember_last_line(last_step);
}

// Work that the run before left undone after its last step may add numbers to that step's line.
void JsonlRun::remember_last_line(std::int64_t last_step) {
  const std::string text = read_whole_file(file_.path());
  if (text.empty()) return;
  const std::size_t before = text.rfind('\n', text.size() - 2);
  const std::size_t begin = before == std::string::npos ? 0 : before + 1;
  auto json = try_parse_json<nlohmann::ordered_json>(text.substr(begin));
  if (!json.is_object() || json.value("step", nlohmann::ordered_json()) != last_step) return;
  lines_[last_step] = {.values = std::move(json), .offset = begin, .changed = false};
  forgotten_ = last_step - 1;
}

JsonlRun::~JsonlRun() {
  try {
    close();
  } catch (const std::exception& error) {
    log::warn("{}", error.what());
  }
}

void JsonlRun::write(const Point& point, const TrackerValue& value) {
  if (point.step <= forgotten_) {
    if (late_values_++ == 0) {
      log::warn("{} of step {} came too late for its line in {}; it and later ones like it are left out",
                point.name, point.step, file_.path().string());
    }
    return;
  }
  Line& line = lines_[point.step];
  if (line.values.empty()) line.values["step"] = point.step;
  line.values[flat_name(point)] = to_json(file_.path().parent_path(), point, value);
  line.changed = true;
}

void JsonlRun::end_step(std::int64_t step) {
  published_ = std::max(published_, step);
  publish(false);
}

void JsonlRun::flush() {
  if (!lines_.empty()) published_ = std::max(published_, lines_.rbegin()->first);
  publish(true);
}

// Writes from the first changed line on, which is usually the new last line. Lines that could not be
// written stay marked as changed.
void JsonlRun::publish(bool urgent) {
  const auto end = lines_.upper_bound(published_);
  const auto first =
      std::find_if(lines_.begin(), end, [](const auto& entry) { return entry.second.changed; });
  if (first == end) return;
  const bool written = retry_.attempt(
      [&] {
        if (file_.is_disturbed()) find_end_again();
        std::uint64_t start = file_.size();
        for (auto line = first; line != end; ++line) start = std::min(start, line->second.offset);
        std::string text;
        std::vector<std::uint64_t> offsets;
        for (auto line = first; line != end; ++line) {
          offsets.push_back(start + text.size());
          text += shown_json(line->second.values);
          text.push_back('\n');
        }
        file_.replace_tail(start, text);
        auto offset = offsets.begin();
        for (auto line = first; line != end; ++line) {
          line->second.offset = *offset++;
          line->second.changed = false;
        }
      },
      urgent);
  forget_old_lines(written ? remembered_lines : waiting_lines_max);
}

void JsonlRun::find_end_again() {
  file_.reopen();
  for (auto line = lines_.begin(); line != lines_.end();) {
    line->second.offset = not_written;
    if (!line->second.changed) forgotten_ = std::max(forgotten_, line->first);
    line = line->second.changed ? std::next(line) : lines_.erase(line);
  }
  log::warn(
      "{} was moved, removed or changed by another program while this job writes it; lines go on at its end "
      "now",
      file_.path().string());
}

void JsonlRun::forget_old_lines(std::size_t remembered) {
  while (lines_.size() > remembered && lines_.begin()->first <= published_) {
    if (lines_.begin()->second.offset == not_written) ++lost_lines_;
    forgotten_ = lines_.begin()->first;
    lines_.erase(lines_.begin());
  }
}

void JsonlRun::close() {
  if (!file_.is_open()) return;
  flush();
  if (retry_.is_failing())
    lost_lines_ += static_cast<std::uint64_t>(
        std::count_if(lines_.begin(), lines_.end(), [](const auto& line) { return line.second.changed; }));
  if (lost_lines_ > 0)
    log::warn("{} of {} never written: there was no room for them", counted(lost_lines_, "line"),
              file_.path().string());
  file_.close();
}

}  // namespace d9d
