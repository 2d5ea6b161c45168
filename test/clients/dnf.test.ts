import { createDnfRoot } from '../support/dnf.ts'
import { describeRpmClient } from '../support/rpm-client-suite.ts'
import { lacking } from '../support/tools.ts'

describeRpmClient({
  program: 'dnf',
  create: createDnfRoot,
  codename: 'almalinux9',
  lacks: lacking('dnf', 'rpm', 'gnupg'),
  badIndex: /GPG verification error|Signing key not found|Bad GPG signature|repomd\.xml GPG signature/i,
  badPackage: /is not signed|GPG check FAILED/i,
})
