#include "runtime/live/prometheus.hpp"

#include <gmock/gmock.h>

#include <cmath>
#include <limits>

namespace d9d::live {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(Prometheus, WritesAGaugeForEachValueAndTheNewestStep) {
  const std::string text =
      prometheus_text("small", {{"loss", {4.25, 7}}, {"tokens_per_second", {1200, 6}}}, false);

  EXPECT_EQ(text,
            "# HELP d9d_step steps that are done\n# TYPE d9d_step gauge\nd9d_step{run=\"small\"} 7\n"
            "# HELP d9d_asleep 1 while the job sleeps without its memory\n# TYPE d9d_asleep gauge\n"
            "d9d_asleep{run=\"small\"} 0\n"
            "# HELP d9d_loss newest loss of the run\n# TYPE d9d_loss gauge\nd9d_loss{run=\"small\"} 4.25\n"
            "# HELP d9d_tokens_per_second newest tokens_per_second of the run\n"
            "# TYPE d9d_tokens_per_second gauge\nd9d_tokens_per_second{run=\"small\"} 1200\n");
}

TEST(Prometheus, ValuesOfTasksAreLabelsOfOneMetric) {
  const std::string text = prometheus_text(
      "r", {{"evaluation/loss", {2, 1}}, {"metrics/F1 score", {0.5, 1}}, {"step", {9, 9}}}, true);

  EXPECT_THAT(text, HasSubstr("d9d_metric{run=\"r\",name=\"evaluation/loss\"} 2\n"
                              "d9d_metric{run=\"r\",name=\"metrics/F1 score\"} 0.5\n"
                              "d9d_metric{run=\"r\",name=\"step\"} 9\n"));
  EXPECT_THAT(text, HasSubstr("d9d_asleep{run=\"r\"} 1\n"));
  EXPECT_EQ(text.find("# TYPE d9d_metric gauge"), text.rfind("# TYPE d9d_metric gauge"));
  EXPECT_EQ(text.find("# TYPE d9d_step gauge"), text.rfind("# TYPE d9d_step gauge")) << "no family twice";
}

TEST(Prometheus, EscapesLabelsAndNamesNumbersThatAreNone) {
  const std::string text = prometheus_text("a \"b\\c\n",
                                           {{"grad_norm", {std::nan(""), 1}},
                                            {"loss", {std::numeric_limits<double>::infinity(), 1}},
                                            {"lr", {-std::numeric_limits<double>::infinity(), 1}}},
                                           false);

  EXPECT_THAT(text, HasSubstr("d9d_grad_norm{run=\"a \\\"b\\\\c\\n\"} NaN\n"));
  EXPECT_THAT(text, HasSubstr("} +Inf\n"));
  EXPECT_THAT(text, HasSubstr("} -Inf\n"));
  EXPECT_THAT(text, Not(HasSubstr("nan")));
}

}  // namespace
}  // namespace d9d::live
