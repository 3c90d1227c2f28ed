#include "runtime/report/section/samples_section.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>

#include "runtime/base/xml_text.hpp"
#include "runtime/report/html.hpp"

namespace d9d::report {
namespace {

constexpr std::size_t files_max = 12;
constexpr std::size_t bytes_max = 16'384;  // of one file

struct SampleText {
  std::string text;
  bool cut = false;
};

// Ends between two characters of UTF-8.
SampleText cut_text(std::string text) {
  if (text.size() <= bytes_max) return {text, false};
  std::size_t end = bytes_max;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80U) --end;
  text.resize(end);
  return {text, true};
}

SampleText text_of(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  std::string text(bytes_max + 1, '\0');
  in.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(in.gcount()));
  return cut_text(std::move(text));
}

}  // namespace

std::string samples_section(const RunFolder& run) {
  if (run.samples.empty() && run.curves.texts.empty()) return {};
  std::string html;
  for (const RecordedText& record : run.curves.texts) {
    const SampleText sample = cut_text(record.text);
    html += fmt::format("<h3>{}, step {}</h3>\n<pre>{}</pre>\n", xml_text(record.name), record.step,
                        xml_text(sample.text));
    if (sample.cut) html += paragraph("The text goes on.", "soft");
  }
  const std::size_t first = run.samples.size() - std::min(files_max, run.samples.size());
  if (first > 0)
    html += paragraph(fmt::format("The last {} of {} files.", files_max, run.samples.size()), "soft");
  for (std::size_t i = first; i < run.samples.size(); ++i) {
    const SampleText sample = text_of(run.samples[i]);
    html +=
        fmt::format("<h3>{}</h3>\n<pre>{}</pre>\n",
                    xml_text(run.samples[i].lexically_relative(run.path).string()), xml_text(sample.text));
    if (sample.cut) html += paragraph("The file goes on.", "soft");
  }
  return section("samples", "Generated text", html);
}

}  // namespace d9d::report
