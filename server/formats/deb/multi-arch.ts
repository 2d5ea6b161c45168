import type { MultiArch } from '../format.ts'
import type { DebFacts } from './facts.ts'

const FIELD = /^Multi-Arch:[ \t]*(foreign|allowed)[ \t]*$/im

/**
 * Which packages count for whom, on a machine that has several architectures enabled. `foreign` ones meet any plain
 * need, `allowed` ones alone meet `:any`; otherwise the architecture must be the one that is asked for. To apt
 * `:native` and `:all` are the machine's own. Source: wiki.ubuntu.com/MultiarchSpec; checked against apt in
 * test/clients/dependencies.test.ts.
 */
export const multiArch: MultiArch<DebFacts> = {
  reachOf: ({ control }) => FIELD.exec(control)?.[1]?.toLowerCase() as 'foreign' | 'allowed' | undefined,
  counts({ arch, reach }, { arch: asked }, machine) {
    if (asked === 'any') return reach === 'allowed'
    if (asked === undefined) return arch === machine || reach === 'foreign'
    return arch === (asked === 'native' || asked === 'all' ? machine : asked)
  },
}
