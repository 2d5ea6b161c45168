import { fail } from '../../core/errors.ts'
import type { Distribution, SeenRepositories } from '../../core/repository.ts'
import type { Format } from '../../formats/format.ts'
import { needHosted } from '../../registries/admit.ts'

/** What an upload may ask for: every format, and the distributions that the sender sees. */
export interface Offered {
  readonly formats: readonly Format[]
  readonly repositories: SeenRepositories
}

/**
 * The distribution that a package of this format goes to.
 * @throws unknown_distribution, registry_takes_no_uploads, distribution_retired, wrong_format: naming the format of the
 *   distribution, and the distributions of this format that the sender sees
 */
export function chooseTarget({ formats, repositories }: Offered, codename: string, format: Format): Distribution {
  const distribution = repositories.get(codename)
  needHosted(distribution)
  if (distribution.format === format.id) return distribution
  return fail('wrong_format', {
    codename,
    is: format.label,
    takes: formats.find(({ id }) => id === distribution.format)?.label ?? `${distribution.format} packages`,
    others: repositories
      .all()
      .filter(other => other.format === format.id)
      .map(other => other.codename)
      .join(', '),
  })
}

/** @param component  empty where the sender leaves it open. @throws bad_component */
export function needComponent({ codename, components }: Distribution, component: string): void {
  if (component !== '' && !components.includes(component))
    fail('bad_component', { codename, component: component.slice(0, 40), known: components.join(', ') })
}
