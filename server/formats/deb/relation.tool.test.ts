import { execFileSync, spawnSync } from 'node:child_process'
import { expect, test } from 'vitest'
import type { Provided } from '../../core/relation.ts'
import { parseRelations, satisfies } from './relation.ts'

const hasPerl = spawnSync('perl', ['-MDpkg::Deps', '-e', '1']).status === 0
test.skipIf(!hasPerl)('Dpkg::Deps has the same opinion on what is satisfied', () => {
  const haves: readonly Provided[] = [
    { name: 'a', version: '1.0-1' },
    { name: 'a', version: '1:0.5' },
    { name: 'a', version: '2~rc1' },
    { name: 'v' },
    { name: 'v', version: '2' },
  ]
  const needs = [
    'a',
    'v',
    'a (= 1.0-1)',
    'a (>= 1.0)',
    'a (<< 2)',
    'a (>> 2~rc1)',
    'a (<= 1:0.5)',
    'v (= 2)',
    'v (>= 2)',
    'v (<< 2)',
    'v (>= 1)',
  ]
  const cases = haves.flatMap(have => needs.map(need => ({ have, need })))
  // a provided name is offered by some other package; the tool is asked on the native architecture
  const script = `use Dpkg::Deps; while (<STDIN>) { chomp; my ($name, $version, $need) = split /\\t/;
    my $facts = Dpkg::Deps::KnownFacts->new();
    if ($name eq 'v') { $facts->add_provided_package($name, $version eq '' ? undef : '=', $version eq '' ? undef : $version, 'other') }
    else { $facts->add_installed_package($name, $version, 'amd64', 'no') }
    my $dep = deps_parse($need, host_arch => 'amd64', build_arch => 'amd64');
    print(($dep->get_evaluation($facts) // 0) == 1 ? "1\\n" : "0\\n") }`
  const answers = execFileSync('perl', ['-e', script], {
    input: cases.map(({ have, need }) => `${have.name}\t${have.version ?? ''}\t${need}\n`).join(''),
  })
    .toString()
    .trim()
    .split('\n')
  const ours = cases.map(({ have, need }) =>
    satisfies(have, parseRelations(need, 'Depends')[0]?.[0] ?? { name: '' }) ? '1' : '0',
  )
  expect(cases.filter((_, i) => answers[i] !== ours[i])).toEqual([])
})
