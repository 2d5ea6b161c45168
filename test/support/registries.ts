import type { Codename, FormatId } from '../../server/core/identity.ts'
import type { Distribution } from '../../server/core/repository.ts'

/** A hosted registry of this format, called `ours-<format>`. */
export const registry = (format: FormatId): Distribution =>
  ({
    kind: 'registry',
    registry: { kind: 'hosted' },
    codename: `ours-${format}` as Codename,
    format,
    label: `Our ${format}`,
    archs: [],
    neutral: [],
    components: ['main'],
    release: { suite: '', origin: '', label: '', description: '' },
    scanner: undefined,
    state: 'active',
    builtin: false,
  }) as unknown as Distribution
