import { describeRpmClient } from '../support/rpm-client-suite.ts'
import { lacking } from '../support/tools.ts'
import { createZypperRoot } from '../support/zypper.ts'

describeRpmClient({
  program: 'zypper',
  create: createZypperRoot,
  codename: 'opensuse-leap-15.6',
  lacks: lacking('zypper', 'rpm', 'gnupg'),
  badIndex: /Signature verification failed|signed with an unknown key|is not signed/i,
  badPackage: /is not signed|Signature verification failed|Package header is not signed/i,
})
