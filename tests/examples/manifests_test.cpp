// examples/kubernetes: every field is one that Kubernetes knows, of its type, and what belongs together agrees.
#include <gmock/gmock.h>
#include <yaml-cpp/yaml.h>

#include <fstream>
#include <regex>

#include "tests/support/process/process.hpp"
#include "tests/support/temporary_folder.hpp"

namespace d9d::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

using Complaints = std::vector<std::string>;

bool fits(const YAML::Node& value, const std::string& type) {
  static const std::regex number("[0-9]+"), name("[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?"),
      quantity("[0-9]+(\\.[0-9]+)?(m|k|M|G|T|Ki|Mi|Gi|Ti)?");
  if (!value.IsScalar()) return false;
  const std::string& text = value.Scalar();
  const bool quoted = value.Tag() == "!";
  const bool word = text == "true" || text == "false";
  if (type == "number") return !quoted && std::regex_match(text, number);
  if (type == "boolean") return !quoted && word;
  if (type == "name") return std::regex_match(text, name);
  if (type == "quantity") return std::regex_match(text, quantity);
  if (type == "text") return quoted || (!word && !std::regex_match(text, number));
  // "=a|b"
  return ("|" + type.substr(1) + "|").find("|" + text + "|") != std::string::npos;
}

void hold(const YAML::Node& value, const YAML::Node& fields, const std::string& path, Complaints& complaints);

void hold_map(const YAML::Node& value, const YAML::Node& fields, const std::string& path,
              Complaints& complaints) {
  for (const auto& entry : value) {
    const std::string key = entry.first.Scalar();
    YAML::Node field;
    for (const std::string& name : {key, key + "!", std::string("*")}) {
      if (fields[name]) field.reset(fields[name]);
    }
    if (field.IsNull()) {
      complaints.push_back(path + "." + key + ": unknown field");
    } else {
      hold(entry.second, field, path + "." + key, complaints);
    }
  }
  for (const auto& field : fields) {
    const std::string key = field.first.Scalar();
    const std::string name = key.substr(0, key.size() - 1);
    if (key.ends_with("!") && !value[name]) complaints.push_back(path + "." + name + ": missing");
  }
}

void hold(const YAML::Node& value, const YAML::Node& fields, const std::string& path,
          Complaints& complaints) {
  if (fields.IsScalar()) {
    if (!fits(value, fields.Scalar())) complaints.push_back(path + ": no " + fields.Scalar());
  } else if (value.Type() != fields.Type()) {
    complaints.push_back(path + (fields.IsMap() ? ": no map" : ": no list"));
  } else if (fields.IsMap()) {
    hold_map(value, fields, path, complaints);
  } else {
    for (std::size_t i = 0; i < value.size(); ++i) {
      hold(value[i], fields[0], path + "." + std::to_string(i), complaints);
    }
  }
}

class Manifests : public testing::Test {
 protected:
  const YAML::Node fields_ = YAML::LoadFile(D9D_SOURCE_DIR "/tests/examples/manifest_fields.yaml");
  const std::vector<YAML::Node> all_ = YAML::LoadAllFromFile(D9D_SOURCE_DIR "/examples/kubernetes/job.yaml");

  Complaints complaints_about(const YAML::Node& manifest) const {
    const std::string kind = manifest["kind"].as<std::string>("");
    Complaints complaints;
    if (!fields_[kind]) return {kind + ": unknown kind"};
    hold(manifest, fields_[kind], kind, complaints);
    return complaints;
  }
  YAML::Node of_kind(const std::string& kind) const {
    for (const YAML::Node& manifest : all_) {
      if (manifest["kind"].Scalar() == kind) return YAML::Clone(manifest);
    }
    throw std::runtime_error("there is no " + kind);
  }
  static std::string name_of(const YAML::Node& manifest) { return manifest["metadata"]["name"].Scalar(); }
};

TEST_F(Manifests, HaveFieldsThatKubernetesKnows) {
  ASSERT_EQ(all_.size(), 4U);
  for (const YAML::Node& manifest : all_) EXPECT_THAT(complaints_about(manifest), IsEmpty());
}

TEST_F(Manifests, AreRefusedWithAWrongAMissingOrAnIllTypedField) {
  const auto with = [&](auto change) {
    YAML::Node job = of_kind("Job");
    change(job["spec"]);
    return complaints_about(job);
  };

  EXPECT_THAT(with([](YAML::Node spec) { spec["completionMod"] = "Indexed"; }),
              ElementsAre("Job.spec.completionMod: unknown field"));
  EXPECT_THAT(with([](YAML::Node spec) { spec.remove("completions"); }),
              ElementsAre("Job.spec.completions: missing"));
  EXPECT_THAT(with([](YAML::Node spec) { spec["parallelism"] = "four"; }),
              ElementsAre("Job.spec.parallelism: no number"));
  EXPECT_THAT(with([](YAML::Node spec) {
                spec["template"]["spec"]["containers"][0]["env"][1]["value"] = YAML::Load("4");
              }),
              ElementsAre("Job.spec.template.spec.containers.0.env.1.value: no text"));
  EXPECT_THAT(with([](YAML::Node spec) { spec["template"]["spec"]["restartPolicy"] = "Always"; }),
              ElementsAre("Job.spec.template.spec.restartPolicy: no =Never|OnFailure"));
}

TEST_F(Manifests, AgreeOnNamesAndNumbers) {
  const YAML::Node job = of_kind("Job")["spec"];
  const YAML::Node pod = job["template"]["spec"];
  const YAML::Node container = pod["containers"][0];
  std::map<std::string, YAML::Node> env;
  for (const YAML::Node& variable : container["env"]) env[variable["name"].Scalar()] = variable;
  const std::string name = name_of(of_kind("Job"));
  const YAML::Node service = of_kind("Service");

  EXPECT_EQ(job["completions"].Scalar(), job["parallelism"].Scalar());
  EXPECT_EQ(env["NNODES"]["value"].Scalar(), job["completions"].Scalar());
  EXPECT_EQ(env["MASTER_ADDR"]["value"].Scalar(), name + "-0." + pod["subdomain"].Scalar());
  EXPECT_EQ(env["MASTER_PORT"]["value"].Scalar(), service["spec"]["ports"][0]["port"].Scalar());
  EXPECT_THAT(env["NODE_RANK"]["valueFrom"]["fieldRef"]["fieldPath"].Scalar(),
              HasSubstr("batch.kubernetes.io/job-completion-index"));
  EXPECT_EQ(pod["subdomain"].Scalar(), name_of(service));
  EXPECT_EQ(service["spec"]["clusterIP"].Scalar(), "None");
  EXPECT_EQ(service["spec"]["selector"]["batch.kubernetes.io/job-name"].Scalar(), name);
  EXPECT_EQ(job["podFailurePolicy"]["rules"][0]["onExitCodes"]["containerName"].Scalar(),
            container["name"].Scalar());
  constexpr int stop_grace_s = 25;
  EXPECT_GE(pod["terminationGracePeriodSeconds"].as<int>(), stop_grace_s + 2);
}

TEST_F(Manifests, MountWhatTheyDeclareAndWhatTheJobFileNames) {
  const YAML::Node pod = of_kind("Job")["spec"]["template"]["spec"];
  std::map<std::string, std::string> source;
  for (const YAML::Node& volume : pod["volumes"]) {
    const YAML::Node claim = volume["persistentVolumeClaim"], map = volume["configMap"];
    source[volume["name"].Scalar()] = claim ? claim["claimName"].Scalar() : map ? map["name"].Scalar() : "";
  }
  std::map<std::string, std::string> mounted;
  for (const YAML::Node& mount : pod["containers"][0]["volumeMounts"]) {
    ASSERT_TRUE(source.contains(mount["name"].Scalar())) << mount["name"];
    mounted[mount["mountPath"].Scalar()] = source[mount["name"].Scalar()];
  }
  const YAML::Node job = YAML::Load(of_kind("ConfigMap")["data"]["job.yaml"].Scalar());

  EXPECT_EQ(mounted["/etc/d9d/job"], name_of(of_kind("ConfigMap")));
  EXPECT_EQ(mounted["/runs"], name_of(of_kind("PersistentVolumeClaim")));
  EXPECT_THAT(job["output_dir"].Scalar(), testing::StartsWith("/runs/"));
  EXPECT_THAT(job["node"]["tls"]["key"].Scalar(), testing::StartsWith("/etc/d9d/tls/"));
  EXPECT_EQ(mounted.count("/etc/d9d/tls"), 1U);
}

TEST_F(Manifests, HoldAJobFileThatIsAcceptedAndThatThePodsCanShare) {
  TemporaryFolder folder;
  const std::string text = of_kind("ConfigMap")["data"]["job.yaml"].Scalar();
  folder.write("job.yaml", text);

  Process check({.words = {D9D_BINARY_DIR "/d9d-node", "check", "job.yaml", "--set", "node.tls=null", "--set",
                           "output_dir=null"},
                 .folder = folder.path()});

  EXPECT_EQ(check.wait(), 0) << check.err();
  const YAML::Node job = YAML::Load(text);
  EXPECT_EQ(
      job["mesh"]["data_parallel_replicate"].as<int>() % of_kind("Job")["spec"]["completions"].as<int>(), 0);
}

}  // namespace
}  // namespace d9d::test
