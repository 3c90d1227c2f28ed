#include "runtime/report/section/samples_section.hpp"

#include <gmock/gmock.h>

#include <fstream>

#include "tests/runtime/report/run_maker.hpp"
#include "tests/runtime/report/well_formed.hpp"

namespace d9d::report {
namespace {

using testing::AllOf;
using testing::HasSubstr;

TEST(SamplesSection, ShowsTextAsItIsAndCutsWhatIsLong) {
  test::RunMaker run;
  run.steps(1);
  run.folder().write("samples.txt", "In the beginning <God> & so on\n");
  std::filesystem::create_directories(run.folder() / "samples");
  std::string much(1, 'x');
  for (int i = 0; i < 20'000; ++i) much += "\u00e4";
  run.folder().write("samples/step-9.txt", much);

  const std::string html = samples_section(run.look());

  EXPECT_EQ(test::markup_problem(html), "");
  EXPECT_THAT(html, AllOf(HasSubstr("In the beginning &lt;God&gt; &amp; so on"),
                          HasSubstr("<h3>samples/step-9.txt</h3>"), HasSubstr("\u00e4</pre>"),
                          HasSubstr("The file goes on.")));
  EXPECT_LT(html.size(), 20'000U);
}

TEST(SamplesSection, ShowsTextsThatWereRecordedAmongTheNumbers) {
  test::RunMaker run;
  run.steps(1);
  std::ofstream(run.folder() / "metrics.jsonl", std::ios::app)
      << R"({"step":2,"loss":1.5,"samples/first":"And God <said>","map":{"picture":"pictures/map-2.png"}})"
      << "\n";

  const std::string html = samples_section(run.look());

  EXPECT_EQ(test::markup_problem(html), "");
  EXPECT_THAT(html, AllOf(HasSubstr("<h3>samples/first, step 2</h3>"), HasSubstr("And God &lt;said&gt;")));
}

TEST(SamplesSection, IsNotThereWithoutSamples) {
  test::RunMaker run;

  EXPECT_EQ(samples_section(run.steps(1).look()), "");
}

}  // namespace
}  // namespace d9d::report
