#include "runtime/report/chart/curves.hpp"

#include <fstream>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>

#include "runtime/base/json_text.hpp"

namespace d9d::report {

const Curve* Curves::find(std::string_view name) const {
  for (const Curve& curve : all) {
    if (curve.name == name) return &curve;
  }
  return nullptr;
}

Curves read_curves(const std::filesystem::path& file) {
  Curves curves;
  std::map<std::string, std::size_t> places;
  std::ifstream in(file);
  for (std::string text; std::getline(in, text);) {
    if (text.empty()) continue;
    const auto line = try_parse_json<nlohmann::ordered_json>(text);
    const auto step = line.is_object() ? line.find("step") : line.end();
    if (!line.is_object() || step == line.end() || !step->is_number()) {
      ++curves.unreadable_lines;
      continue;
    }
    ++curves.num_steps;
    for (const auto& [name, value] : line.items()) {
      if (value.is_string()) curves.texts.push_back({name, step->get<double>(), value.get<std::string>()});
      if (curves.texts.size() > texts_max) curves.texts.erase(curves.texts.begin());
      if (name == "step" || !(value.is_number() || value.is_null())) continue;
      const auto [place, is_new] = places.emplace(name, curves.all.size());
      if (is_new) curves.all.push_back({name, {}, {}});
      Curve& curve = curves.all[place->second];
      curve.steps.push_back(step->get<double>());
      curve.values.push_back(value.is_null() ? std::numeric_limits<double>::quiet_NaN()
                                             : value.get<double>());
    }
  }
  return curves;
}

}  // namespace d9d::report
