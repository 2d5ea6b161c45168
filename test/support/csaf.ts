/** A VEX document in Red Hat's layout: a release and its packages as branches, joined by relationships. */
export interface VexParts {
  readonly cve?: string
  readonly publisher?: string
  readonly date?: string
  readonly cpe?: string
  /** Products by id: their package URLs, or '' for those without. */
  readonly packages: Readonly<Record<string, string>>
  readonly status: Readonly<Record<string, readonly string[]>>
  readonly impact?: string
  readonly flags?: readonly object[]
  readonly remediations?: readonly object[]
  readonly scores?: readonly object[]
}

const PLATFORM = 'platform'

/** The ids in `status` are those of `packages`; the document writes them as `platform:package`. */
export function vexDocument({
  cve = 'CVE-2024-10001',
  publisher = 'Red Hat Product Security',
  date = '2026-01-02T03:04:05+00:00',
  cpe = 'cpe:/o:redhat:enterprise_linux:9',
  packages,
  status,
  impact = 'Important',
  flags = [],
  remediations = [],
  scores = [],
}: VexParts): object {
  const idOf = (name: string): string => `${PLATFORM}:${name}`
  return {
    document: {
      category: 'csaf_vex',
      csaf_version: '2.0',
      publisher: { category: 'vendor', name: publisher, namespace: 'https://vendor.example' },
      title: cve,
      tracking: { id: cve, current_release_date: date, initial_release_date: date, status: 'final', version: '1' },
    },
    product_tree: {
      branches: [
        {
          category: 'vendor',
          name: publisher,
          branches: [
            {
              category: 'product_name',
              name: 'Release',
              product: { product_id: PLATFORM, name: 'Release', product_identification_helper: { cpe } },
            },
            ...Object.entries(packages).map(([id, purl]) => ({
              category: 'product_version',
              name: id,
              product: {
                product_id: id,
                name: id,
                ...(purl === '' ? {} : { product_identification_helper: { purl } }),
              },
            })),
          ],
        },
      ],
      relationships: Object.keys(packages).map(id => ({
        category: 'default_component_of',
        full_product_name: { name: id, product_id: idOf(id) },
        product_reference: id,
        relates_to_product_reference: PLATFORM,
      })),
    },
    vulnerabilities: [
      {
        cve,
        title: 'a flaw',
        product_status: Object.fromEntries(Object.entries(status).map(([key, ids]) => [key, ids.map(idOf)])),
        threats: [{ category: 'impact', details: impact }],
        flags,
        remediations,
        scores,
      },
    ],
  }
}
