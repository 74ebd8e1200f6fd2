-- The health of an ElectionGroup, by its conditions. Reconciling and Stalled follow kstatus.
local hs = { status = "Progressing", message = "Waiting for the manager to observe the group" }

if obj.status == nil or obj.status.conditions == nil then
  return hs
end
if obj.status.observedGeneration ~= obj.metadata.generation then
  return hs
end

local conditions = {}
for _, condition in ipairs(obj.status.conditions) do
  conditions[condition.type] = condition
end
local function is_true(kind)
  return conditions[kind] ~= nil and conditions[kind].status == "True"
end

if is_true("Stalled") then
  hs.status = "Degraded" -- nothing changes until a person acts
  hs.message = conditions["Stalled"].message
elseif is_true("Reconciling") then
  hs.message = conditions["Reconciling"].message
elseif is_true("Ready") then
  hs.status = "Healthy" -- somebody coordinates, even if other processes are down
  hs.message = conditions["Ready"].message
  if is_true("Degraded") then
    hs.message = conditions["Degraded"].message
  end
elseif conditions["Ready"] ~= nil then
  hs.message = conditions["Ready"].message
  if conditions["Ready"].reason == "NoProcesses" then
    hs.status = "Healthy" -- like a Deployment of no replicas; its pods may come in a later wave
  end
end
return hs
