import { expect, test } from 'vitest'
import { complainForbidden, forbiddenIn } from './forbidden.ts'
import { judgeLicence, spdxExpression } from './judge.ts'
import { identifierOrName, licencesNamed } from './names.ts'

const AGPL = ['AGPL-3.0']

test.each<[string, readonly string[], string, string]>([
  // what an entry means
  ['AGPL-3.0', AGPL, 'forbidden', 'AGPL-3.0'],
  ['AGPL-3.0-only', AGPL, 'forbidden', 'AGPL-3.0-only'],
  ['AGPL-3.0-or-later', AGPL, 'forbidden', 'AGPL-3.0-or-later'],
  ['AGPL-3.0+', AGPL, 'forbidden', 'AGPL-3.0+'],
  ['agpl-3.0-ONLY', AGPL, 'forbidden', 'AGPL-3.0-only'],
  ['AGPL-3.0', ['AGPL-3.0-only'], 'forbidden', 'AGPL-3.0'],
  ['AGPL-3.0-or-later', ['AGPL-3.0-only'], 'free', ''],
  ['AGPL-3.0+', ['AGPL-3.0-or-later'], 'forbidden', 'AGPL-3.0+'],
  ['AGPL-3.0-or-later', ['AGPL-3.0+'], 'forbidden', 'AGPL-3.0-or-later'],
  ['AGPL-3.0-only', ['AGPL-3.0-or-later'], 'free', ''],
  ['AGPL-1.0-or-later', AGPL, 'free', ''],
  ['AGPL-1.0-or-later', ['AGPL-*'], 'forbidden', 'AGPL-1.0-or-later'],
  ['LGPL-2.1-only', ['GPL-*'], 'free', ''],
  ['GPL-2.0-with-classpath-exception', ['GPL-2.0'], 'forbidden', 'GPL-2.0-with-classpath-exception'],
  ['SSPL-1.0', ['agpl-*', 'sspl-1.0'], 'forbidden', 'SSPL-1.0'],
  ['LicenseRef-Acme-EULA', ['LicenseRef-Acme-*'], 'forbidden', 'LicenseRef-Acme-EULA'],
  ['MIT', [], 'free', ''],
  // expressions
  ['MIT OR AGPL-3.0-only', AGPL, 'free', ''],
  ['MIT AND AGPL-3.0-only', AGPL, 'forbidden', 'AGPL-3.0-only'],
  ['MIT and AGPL-3.0-only', AGPL, 'forbidden', 'AGPL-3.0-only'],
  ['MIT OR Apache-2.0 AND AGPL-3.0-only', AGPL, 'free', ''],
  ['(MIT OR Apache-2.0) AND AGPL-3.0-only', AGPL, 'forbidden', 'AGPL-3.0-only'],
  ['AGPL-3.0-only OR SSPL-1.0', [...AGPL, 'SSPL-1.0'], 'forbidden', 'AGPL-3.0-only,SSPL-1.0'],
  ['AGPL-3.0-only WITH GCC-exception-3.1 OR SSPL-1.0', AGPL, 'free', ''],
  ['AGPL-3.0-only WITH GCC-exception-3.1', AGPL, 'forbidden', 'AGPL-3.0-only'],
  ['MIT OR LicenseRef-Acme-EULA', AGPL, 'free', ''],
  ['MIT AND LicenseRef-Acme-EULA', AGPL, 'unknown', ''],
  ['AGPL-3.0-only OR LicenseRef-Acme-EULA', AGPL, 'unknown', ''],
  ['AGPL-3.0-only AND LicenseRef-Acme-EULA', AGPL, 'forbidden', 'AGPL-3.0-only'],
  // what stands beside a well-known name may be another licence
  ['MIT WITH AGPL-3.0', AGPL, 'forbidden', 'AGPL-3.0'],
  ['MIT with the server under AGPL-3.0', AGPL, 'unknown', ''],
  ['LGPL with exceptions', AGPL, 'free', ''],
  ['MIT (server: AGPL-3.0)', AGPL, 'unknown', ''],
  ['GPLv3 (Affero)', AGPL, 'unknown', ''],
  ['GPL/AGPL-3.0', AGPL, 'unknown', ''],
  ['MIT\nAGPL-3.0', AGPL, 'unknown', ''],
  ['MIT\n\nand AGPL-3.0', AGPL, 'forbidden', 'AGPL-3.0'],
  [`MIT${' '.repeat(2_000)}AND AGPL-3.0`, AGPL, 'unknown', ''],
  [`MIT License\n\n${'Permission is hereby granted. '.repeat(100)}`, AGPL, 'free', ''],
  ['https://opensource.org/licenses/MIT/ and https://www.gnu.org/licenses/agpl-3.0', AGPL, 'forbidden', 'AGPL-3.0'],
  ['((AGPL-3.0-only))', AGPL, 'forbidden', 'AGPL-3.0-only'],
  // names: PyPI's classifiers, RPMs of Fedora before SPDX, poms
  ['GNU Affero General Public License v3', AGPL, 'forbidden', 'AGPL-3.0-only'],
  ['GNU Affero General Public License v3 or later (AGPLv3+)', AGPL, 'forbidden', 'AGPL-3.0-or-later'],
  ['GNU AGPL', AGPL, 'forbidden', 'AGPL-3.0-only,AGPL-3.0-or-later'],
  ['AGPLv3+ and MIT', AGPL, 'forbidden', 'AGPL-3.0-or-later'],
  ['AGPLv3 or MIT', AGPL, 'free', ''],
  ['GPLv3+ and GPLv3+ with exceptions and GPLv2+ and BSD', AGPL, 'free', ''],
  ['GPLv3+ and GPLv3+ with exceptions and GPLv2+ and BSD', ['GPL-2.0'], 'forbidden', 'GPL-2.0-or-later'],
  ['GNU General Public License v2 or later AND MIT', ['GPL-2.0-or-later'], 'forbidden', 'GPL-2.0-or-later'],
  ['GPL version 2 or (at your option) any later version', ['GPL-2.0'], 'forbidden', 'GPL-2.0-or-later'],
  ['BSD License', ['BSD-4-Clause'], 'unknown', ''],
  ['BSD License', ['BSD-*'], 'forbidden', 'BSD-2-Clause,BSD-3-Clause,BSD-4-Clause'],
  ['BSD License', AGPL, 'free', ''],
  ['The Apache Software License, Version 2.0', AGPL, 'free', ''],
  // the whole text: its title
  ['MIT License\n\nCopyright (c) 2020 Jo', AGPL, 'free', ''],
  [
    '  GNU AFFERO GENERAL PUBLIC LICENSE\n   Version 3, 19 November 2007\n\n Copyright (C) 2007',
    AGPL,
    'forbidden',
    'AGPL-3.0-only',
  ],
  // neither an expression nor a name: never free
  ['', AGPL, 'unknown', ''],
  ['SEE LICENSE IN LICENSE.md', AGPL, 'unknown', ''],
  ['UNLICENSED', AGPL, 'unknown', ''],
  ['MIT, or ask us', AGPL, 'unknown', ''],
  ['MIT OR something that we wrote', AGPL, 'unknown', ''],
  ['Proprietary AND AGPL-3.0-only', AGPL, 'forbidden', 'AGPL-3.0-only'],
  ['(MIT OR ISC', AGPL, 'unknown', ''],
  ['MIT OR', AGPL, 'unknown', ''],
  ['MIT AND OR MIT', AGPL, 'unknown', ''],
  ['MIT WITH', AGPL, 'unknown', ''],
  ['MIT BSD', AGPL, 'unknown', ''],
  [`${'MIT OR '.repeat(250)}MIT`, AGPL, 'unknown', ''],
  ['('.repeat(1_000), AGPL, 'unknown', ''],
])('%j with %j forbidden is %s: %s', (declared, forbidden, standing, because) => {
  const found = judgeLicence(declared, forbidden)
  expect([found.standing, found.because.join(',')]).toEqual([standing, because])
})

test('what declares nothing is unknown', () => {
  expect(judgeLicence(undefined, [])).toEqual({ standing: 'unknown', because: [] })
})

test.each<[string, string | undefined]>([
  ['Apache License, Version 2.0', 'Apache-2.0'],
  ['The Apache License, Version 2.0', 'Apache-2.0'],
  ['Apache 2', 'Apache-2.0'],
  ['Apache-2.0', 'Apache-2.0'],
  ['ASL 2.0', 'Apache-2.0'],
  ['Apache Software License', 'Apache-1.0 Apache-1.1 Apache-2.0'],
  ['MIT License', 'MIT'],
  ['The MIT License (MIT)', 'MIT'],
  ['MIT/X11', 'MIT'],
  ['BSD 3-Clause "New" or "Revised" License', undefined],
  ['The BSD 3-Clause License', 'BSD-3-Clause'],
  ['3-Clause BSD License', 'BSD-3-Clause'],
  ['New BSD License', 'BSD-3-Clause'],
  ['Eclipse Distribution License - v 1.0', 'BSD-3-Clause'],
  ['Eclipse Public License - v 1.0', 'EPL-1.0'],
  ['Eclipse Public License v2.0', 'EPL-2.0'],
  ['EPL 2.0', 'EPL-2.0'],
  ['Mozilla Public License 2.0 (MPL 2.0)', 'MPL-2.0'],
  ['MPLv2.0', 'MPL-2.0'],
  ['COMMON DEVELOPMENT AND DISTRIBUTION LICENSE (CDDL) Version 1.0', undefined],
  ['Common Development and Distribution License 1.0 (CDDL-1.0)', 'CDDL-1.0'],
  ['GNU Lesser General Public License v2.1', 'LGPL-2.1-only'],
  ['GNU Lesser General Public License, Version 3', 'LGPL-3.0-only'],
  ['GNU Library or Lesser General Public License (LGPL)', 'LGPL-2.0-or-later'],
  ['GNU General Public License v2 or later (GPLv2+)', 'GPL-2.0-or-later'],
  ['GNU General Public License (GPL)', 'GPL-1.0-or-later'],
  ['GPLv3', 'GPL-3.0-only'],
  ['LGPLv2+', 'LGPL-2.0-or-later'],
  ['GPL v7', undefined],
  ['Server Side Public License, v 1', 'SSPL-1.0'],
  ['Business Source License 1.1', 'BUSL-1.1'],
  ['Elastic License 2.0', 'Elastic-2.0'],
  ['Python Software Foundation License', 'PSF-2.0 Python-2.0'],
  ['ISC License (ISCL)', 'ISC'],
  ['Boost Software License 1.0 (BSL-1.0)', 'BSL-1.0'],
  ['Public Domain', 'CC-PDDC CC0-1.0 Unlicense'],
  ['The Unlicense (Unlicense)', 'Unlicense'],
  ['constructor', undefined],
  ['https://www.apache.org/licenses/LICENSE-2.0.txt', 'Apache-2.0'],
  ['http://www.opensource.org/licenses/mit-license.php', 'MIT'],
  ['https://opensource.org/licenses/BSD-3-Clause', 'BSD-3-Clause'],
  ['http://www.gnu.org/licenses/old-licenses/lgpl-2.1.en.html', 'LGPL-2.1'],
  ['https://www.gnu.org/licenses/agpl-3.0.txt', 'AGPL-3.0'],
  ['http://www.eclipse.org/legal/epl-v10.html', 'EPL-1.0'],
  ['http://www.eclipse.org/org/documents/edl-v10.php', 'BSD-3-Clause'],
  ['https://www.mozilla.org/en-US/MPL/2.0/', 'MPL-2.0'],
  ['https://creativecommons.org/publicdomain/zero/1.0/', 'CC0-1.0'],
  ['https://creativecommons.org/licenses/by-sa/4.0/', 'CC-BY-SA-4.0'],
  ['https://www.mongodb.com/licensing/server-side-public-license', 'SSPL-1.0'],
  ['https://acme.example/licenses/MIT', undefined],
])('%j means %s', (name, ids) => {
  expect(licencesNamed(name)?.join(' ')).toBe(ids)
})

test('a name that is not clear stays as it is', () => {
  expect(['MIT License', 'BSD License', 'Ours'].map(identifierOrName)).toEqual(['MIT', 'BSD License', 'Ours'])
})

test.each<[string, string | undefined]>([
  ['mit', 'MIT'],
  ['MIT and (apache-2.0 or GPL-2.0+)', 'MIT AND (Apache-2.0 OR GPL-2.0+)'],
  ['GPL-2.0-only WITH classpath-exception-2.0', 'GPL-2.0-only WITH Classpath-exception-2.0'],
  ['GPL-2.0-only WITH something', undefined],
  ['MIT License', undefined],
  ['MIT Apache-2.0', undefined],
  ['MIT OR', undefined],
  ['MIT (Apache-2.0)', undefined],
  ['LicenseRef-Acme', undefined],
  ['', undefined],
])('%j is the expression %s', (text, expression) => {
  expect(spdxExpression(text)).toBe(expression)
})

test.each<[string, string | undefined]>([
  ['', undefined],
  ['AGPL-*, SSPL-1.0', undefined],
  ['agpl-3.0 AGPL-3.0+  GPL-2.0-or-later', undefined],
  ['LicenseRef-Acme, LicenseRef-Foo-*', undefined],
  ['AGPL', 'AGPL is no licence of the SPDX list (https://spdx.org/licenses); AGPL* is'],
  ['MIT, AGLP-3.0', 'AGLP-3.0 is no licence of the SPDX list (https://spdx.org/licenses); AGPL-3.0 is'],
  ['Apache-2', 'Apache-2 is no licence of the SPDX list (https://spdx.org/licenses); Apache-2.0 is'],
  ['Zzzzzzzzzzzzzz', 'Zzzzzzzzzzzzzz is no licence of the SPDX list (https://spdx.org/licenses)'],
  ['XGPL-*', 'XGPL-* is no licence of the SPDX list (https://spdx.org/licenses)'],
  ['*', '"*" is no identifier: letters, digits, dots, hyphens and + may be in it, and * at its end'],
  ['AG*PL', '"AG*PL" is no identifier: letters, digits, dots, hyphens and + may be in it, and * at its end'],
])('the list %j is refused: %s', (text, why) => {
  expect(complainForbidden(text)).toBe(why)
})

test('a list is separated by commas or blanks', () => {
  expect(forbiddenIn(' AGPL-*,SSPL-1.0\n MIT ')).toEqual(['AGPL-*', 'SSPL-1.0', 'MIT'])
})
