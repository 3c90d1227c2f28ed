#pragma once
// Shares of a whole as a row of coloured parts: where the time of each rank went.

#include <string>
#include <vector>

namespace d9d::report {

struct Share {
  std::string name;       // in the legend
  std::string css_class;  // of the page's style: its colour
};

struct BarRow {
  std::string name;
  std::vector<double> parts;  // one per share; their sum is the whole row
};

// Draws a figure with a scale in percent and a legend. A row whose sum is 0 stays empty.
std::string bar_chart(const std::string& title, const std::vector<Share>& shares,
                      const std::vector<BarRow>& rows);

}  // namespace d9d::report
