// What node.tls is checked for before anything else, and who gets through.
#include "runtime/net/tls.hpp"

#include <gmock/gmock.h>

#include <fstream>

#include "runtime/base/error.hpp"
#include "tests/support/certificates.hpp"
#include "tests/support/error_of.hpp"
#include "tests/support/temporary_folder.hpp"

namespace d9d::net {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class TlsFilesTest : public testing::Test {
 protected:
  std::string error_of(const TlsFiles& files) {
    return test::error_of([&] { const Tls tls(files); }, ErrorKind::input);
  }
  const test::TemporaryFolder folder_;
  const test::Authority authority_{folder_.path(), "job"};
  const TlsFiles good_ = authority_.issue("node");
};

TEST_F(TlsFilesTest, AreTakenWhenTheyBelongTogether) {
  EXPECT_EQ(error_of(good_), "no error");
}

TEST_F(TlsFilesTest, AreNamedWhenTheyAreMissing) {
  EXPECT_THAT(error_of({good_.ca, "none.pem", good_.key}),
              HasSubstr("node.tls.certificate: cannot read none.pem"));
  EXPECT_THAT(error_of({good_.ca, good_.certificate, folder_.path().string()}),
              HasSubstr("node.tls.key: cannot read"));
}

TEST_F(TlsFilesTest, AreNamedWhenTheyHoldSomethingElse) {
  std::ofstream(folder_.path() / "text.pem") << "no certificate\n";
  const std::string text = (folder_.path() / "text.pem").string();

  EXPECT_THAT(error_of({text, good_.certificate, good_.key}), HasSubstr("node.tls.ca: "));
  EXPECT_THAT(error_of({good_.ca, text, good_.key}), HasSubstr("node.tls.certificate: "));
  EXPECT_THAT(error_of({good_.ca, good_.certificate, text}), HasSubstr("node.tls.key: "));
}

TEST_F(TlsFilesTest, NeedTheKeyOfTheirCertificate) {
  const TlsFiles other = authority_.issue("other");

  EXPECT_THAT(error_of({good_.ca, good_.certificate, other.key}),
              AllOf(HasSubstr("node.tls.key: "), HasSubstr("is not the key of the certificate")));
}

TEST_F(TlsFilesTest, NeedACertificateOfTheJobsAuthority) {
  const test::Authority stranger(folder_.path(), "stranger");
  const TlsFiles other = stranger.issue("other");

  EXPECT_THAT(error_of({good_.ca, other.certificate, other.key}),
              AllOf(HasSubstr("node.tls.certificate: "), HasSubstr("is not signed by node.tls.ca")));
}

TEST_F(TlsFilesTest, NeedACertificateThatIsValidToday) {
  EXPECT_THAT(error_of(authority_.issue("old", {-7200, -3600})),
              HasSubstr("not valid today (certificate has expired)"));
  EXPECT_THAT(error_of(authority_.issue("early", {3600, 7200})), HasSubstr("not valid today"));
}

}  // namespace
}  // namespace d9d::net
