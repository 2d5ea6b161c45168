/** One module, greeter, whose default stream has hello 1.0-1 of the architecture. */
export const modulesYaml = (arch: string): string => `---
document: modulemd
version: 2
data:
  name: greeter
  stream: "1"
  version: 20261122
  context: abcd1234
  arch: ${arch}
  summary: Says hello
  description: >-
    Says hello in many ways.
  license:
    module: [MIT]
  profiles:
    common:
      rpms: [hello]
  artifacts:
    rpms: ["hello-0:1.0-1.${arch}"]
...
---
document: modulemd-defaults
version: 1
data:
  module: greeter
  stream: "1"
  profiles:
    "1": [common]
...
`
/** One group, Greetings, that hello belongs to. */
export const COMPS = `<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE comps PUBLIC "-//Red Hat, Inc.//DTD Comps info//EN" "comps.dtd">
<comps><group><id>greetings</id><name>Greetings</name><description>Says hello</description><default>false</default>
<uservisible>true</uservisible><packagelist><packagereq type="mandatory">hello</packagereq></packagelist></group></comps>
`
/** One advisory, EX-2026:0001, that world 2.0-1 mends something. */
export const UPDATEINFO = `<?xml version="1.0" encoding="UTF-8"?>
<updates><update from="vendor@example.test" status="final" type="security" version="1"><id>EX-2026:0001</id>
<title>hello is mended</title><issued date="2026-11-01 00:00:00"/><updated date="2026-11-01 00:00:00"/>
<severity>Important</severity><description>mended</description><references/><pkglist><collection short="ex"><name>ex</name>
<package name="world" version="2.0" release="1" epoch="0" arch="noarch"><filename>world-2.0-1.noarch.rpm</filename></package>
</collection></pkglist></update></updates>
`
